//! Migrations that are compiled into a program.

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// The migrations with these versions, names and statements. They are recorded as those of `sqlx::migrate!` are, whose macro would build sqlx, its
/// drivers and SQLite a second time, for the compiler.
#[must_use]
pub fn migrator(list: &[(i64, &'static str, &'static str)]) -> Migrator {
    let migration = |(version, name, statements): &(i64, &'static str, &'static str)| {
        Migration::new(*version, (*name).into(), MigrationType::Simple, statements.into_sql_str(), false)
    };
    Migrator::with_migrations(list.iter().map(migration).collect())
}
