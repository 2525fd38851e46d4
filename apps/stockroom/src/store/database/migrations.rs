//! The migrations, compiled into the program.

macro_rules! migrations {
    ($database:literal) => {
        web::migrations!($database, 1 "stock", 2 "payments", 3 "search", 4 "probe")
    };
}
pub(in crate::store::database) use migrations;

#[cfg(test)]
mod tests {
    use sqlx::migrate::MigrateError;
    use web::sql::incomplete_migrations;

    #[tokio::test]
    async fn compiled_migrations_are_all_files_of_their_folder() -> Result<(), MigrateError> {
        let compiled =
            [("sqlite", migrations!("sqlite")), ("mysql", migrations!("mysql")), ("postgres", migrations!("postgres"))];
        assert_eq!(incomplete_migrations(env!("CARGO_MANIFEST_DIR"), &compiled).await?, [""; 0]);
        Ok(())
    }
}
