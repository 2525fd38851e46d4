//! The migrations, compiled into the program.

/// The migrations of a database: the files of its folder below `migrations/`.
macro_rules! migrations {
    ($database:literal) => {
        web::sql::migrator(&[
            (1, "stock", include_str!(concat!("../../../migrations/", $database, "/0001_stock.sql"))),
            (2, "payments", include_str!(concat!("../../../migrations/", $database, "/0002_payments.sql"))),
            (3, "search", include_str!(concat!("../../../migrations/", $database, "/0003_search.sql"))),
        ])
    };
}
pub(in crate::store::database) use migrations;

#[cfg(test)]
mod tests {
    use sqlx::migrate::{MigrateError, Migrator};
    use std::path::Path;

    #[tokio::test]
    async fn compiled_migrations_are_all_files_of_their_folder() -> Result<(), MigrateError> {
        let compiled = [migrations!("sqlite"), migrations!("mysql"), migrations!("postgres")];
        for (compiled, folder) in compiled.iter().zip(["sqlite", "mysql", "postgres"]) {
            let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(folder);
            assert_eq!(records(compiled), records(&Migrator::new(files).await?), "{folder}");
        }
        Ok(())
    }

    /// What is recorded of them in the database.
    fn records(migrator: &Migrator) -> Vec<(i64, String, Vec<u8>)> {
        let record = |one: &sqlx::migrate::Migration| (one.version, one.description.to_string(), one.checksum.to_vec());
        migrator.iter().map(record).collect()
    }
}
