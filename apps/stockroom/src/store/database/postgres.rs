//! PostgreSQL.

use super::migrations::migrations;
use super::{CONNECT_TIMEOUT, Dialect, MIGRATIONS, POOL, Pools};
use crate::store::StoreError;
use evenkeel::sql::run_migrations;
use web::sql::{postgres_pool, server_options};

pub(in crate::store) async fn open(url: &str) -> Result<Pools<sqlx::Postgres>, StoreError> {
    let pool = postgres_pool(server_options(url, CONNECT_TIMEOUT).await?, POOL);
    run_migrations(&pool, &migrations!("postgres"), MIGRATIONS).await?;
    Ok(Pools { writer: pool.clone(), reader: pool })
}

impl Dialect for sqlx::Postgres {
    // At a stricter default of the server, a transaction that waited for a row would read the snapshot from before its wait.
    const BEGIN_WRITE: &'static str = "BEGIN ISOLATION LEVEL READ COMMITTED";
    const BEGIN_SNAPSHOT: &'static str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    const INT: &'static str = "BIGINT";
}
