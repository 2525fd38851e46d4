//! The steps of a lock in rows, on databases whose time the suite moves.

use sqlx::{MySql, Postgres};
use testkit::conformance::lock::Rows;

testkit::lock_suite!(lock_suite_on_mariadb in Rows::<MySql>::mariadb);
testkit::lock_suite!(lock_suite_on_postgres in Rows::<Postgres>::postgres);
