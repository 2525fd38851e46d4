//! One set of servers for a whole test run, and each test's own corner of them.
//!
//! `cargo xtask test` starts `evenkeel-testkit park`, which prints one line `NAME=url` per server and then `ready`, keeps them
//! running until its standard input ends, and hands the lines to the tests as environment variables. A test that runs without
//! them starts its own servers, so any test can run alone.

mod database;
mod redis;
mod serve;

pub use database::{Database, mariadb_database, postgres_database, sqlite_database};
pub use redis::{SharedRedis, own_redis, redis};
pub use serve::{READY, serve};

/// Environment variable with the shared Redis's address.
pub const REDIS_VARIABLE: &str = "EVENKEEL_TEST_REDIS";

/// Environment variable with the shared MariaDB's address, without a database.
pub const MARIADB_VARIABLE: &str = "EVENKEEL_TEST_MARIADB";

/// Environment variable with the shared PostgreSQL's address, with the database `postgres`.
pub const POSTGRES_VARIABLE: &str = "EVENKEEL_TEST_POSTGRES";

/// A name that no other test and no earlier run uses: letters and digits, beginning with a letter.
fn own_name() -> String {
    format!("t{:016x}", rand::random::<u64>())
}
