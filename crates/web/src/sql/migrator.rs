//! Migrations that are compiled into a program.

use sqlx::SqlSafeStr;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use std::path::Path;

/// The migrations of a database in the calling crate, by numbers and names: the files of its folder below `migrations/`.
#[macro_export]
macro_rules! migrations {
    ($database:literal, $($version:literal $name:literal),+) => {
        $crate::sql::migrator(&[$((
            $version,
            $name,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/", $database, "/000", $version, "_", $name, ".sql")),
        )),+])
    };
}

/// The migrations with these versions, names and statements. They are recorded as those of `sqlx::migrate!` are, whose macro would build sqlx, its
/// drivers and SQLite a second time, for the compiler.
#[must_use]
pub fn migrator(list: &[(i64, &'static str, &'static str)]) -> Migrator {
    let migration = |(version, name, statements): &(i64, &'static str, &'static str)| {
        Migration::new(*version, (*name).into(), MigrationType::Simple, statements.into_sql_str(), false)
    };
    Migrator::with_migrations(list.iter().map(migration).collect())
}

/// The databases whose `compiled` migrations are not those of all files in their folder below `migrations/` of the crate in `folder`: for
/// its tests.
///
/// # Errors
/// A folder cannot be read.
pub async fn incomplete_migrations<'a>(
    folder: &str,
    compiled: &[(&'a str, Migrator)],
) -> Result<Vec<&'a str>, MigrateError> {
    let mut incomplete = Vec::new();
    for (database, migrator) in compiled {
        let files = Path::new(folder).join("migrations").join(database);
        if records(migrator) != records(&Migrator::new(files).await?) {
            incomplete.push(*database);
        }
    }
    Ok(incomplete)
}

/// What is recorded of migrations in the database.
fn records(migrator: &Migrator) -> Vec<(i64, String, Vec<u8>)> {
    let record = |one: &Migration| (one.version, one.description.to_string(), one.checksum.to_vec());
    migrator.iter().map(record).collect()
}
