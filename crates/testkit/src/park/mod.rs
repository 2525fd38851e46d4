//! Shared servers for a whole test run, on which each test has a database or a prefix of its own.
//!
//! `cargo xtask test` starts `evenkeel-testkit park`, which prints one line `NAME=url` per server and then `ready`, and runs the servers
//! until its standard input ends. `xtask` sets the lines as environment variables of the tests. Without them, a test starts servers of
//! its own, so any test can run alone.

mod database;
mod redis;
mod serve;

pub use database::{Database, mariadb_database, postgres_database, postgres_latin1_database, sqlite_database};
pub use redis::{SharedRedis, own_redis, redis};
pub use serve::{READY, serve};

/// Environment variable with the shared Redis's address.
pub const REDIS_VARIABLE: &str = "EVENKEEL_TEST_REDIS";

/// Environment variable with the shared MariaDB's address, without a database.
pub const MARIADB_VARIABLE: &str = "EVENKEEL_TEST_MARIADB";

/// Environment variable with the shared PostgreSQL's address, with the database `postgres`.
pub const POSTGRES_VARIABLE: &str = "EVENKEEL_TEST_POSTGRES";

/// A name that no other test or earlier run uses: letters and digits, starting with a letter.
fn own_name() -> String {
    format!("t{:016x}", rand::random::<u64>())
}
