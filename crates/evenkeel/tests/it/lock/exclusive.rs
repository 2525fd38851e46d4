//! The suite of exclusive locks on everything that keeps one.

use sqlx::{MySql, Postgres, Sqlite};
use testkit::conformance::exclusive::{MemoryFleet, RedisFleet, RedlockFleet, SqlFleet};

testkit::exclusive_suite!(exclusive_suite_in_memory in MemoryFleet::open);
testkit::exclusive_suite!(exclusive_suite_on_redis in RedisFleet::open);
testkit::exclusive_suite!(exclusive_suite_on_several_redis in RedlockFleet::open);
testkit::exclusive_suite!(exclusive_suite_on_rows_of_mariadb in SqlFleet::<MySql>::rows);
testkit::exclusive_suite!(exclusive_suite_on_rows_of_postgres in SqlFleet::<Postgres>::rows);
testkit::exclusive_suite!(exclusive_suite_on_rows_of_sqlite in SqlFleet::<Sqlite>::rows);
testkit::exclusive_suite!(exclusive_suite_on_advisory_locks_of_mariadb in SqlFleet::<MySql>::advisory);
testkit::exclusive_suite!(exclusive_suite_on_advisory_locks_of_postgres in SqlFleet::<Postgres>::advisory);
