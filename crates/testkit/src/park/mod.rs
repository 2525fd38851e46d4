//! One set of servers for a whole test run, and each test's own corner of them.
//!
//! `cargo xtask test` starts `evenkeel-testkit park`, which prints one line `NAME=url` per server and then `ready`, keeps them
//! running until its standard input ends, and hands the lines to the tests as environment variables. A test that runs without
//! them starts its own servers, so any test can run alone.

mod redis;

pub use redis::{SharedRedis, redis};

/// Environment variable with the shared Redis's address.
pub const REDIS_VARIABLE: &str = "EVENKEEL_TEST_REDIS";

/// A name that no other test and no earlier run uses: letters and digits, beginning with a letter.
fn own_name() -> String {
    format!("t{:016x}", rand::random::<u64>())
}
