//! MySQL and MariaDB.

use super::migrations::migrations;
use super::{CONNECT_TIMEOUT, Dialect, MIGRATIONS, POOL, Pools};
use crate::store::StoreError;
use evenkeel::sql::run_migrations;
use web::sql::{mysql_pool, server_options};

pub(in crate::store) async fn open(url: &str) -> Result<Pools<sqlx::MySql>, StoreError> {
    let pool = mysql_pool(server_options(url, CONNECT_TIMEOUT).await?, POOL);
    run_migrations(&pool, &migrations!("mysql"), MIGRATIONS).await?;
    Ok(Pools { writer: pool.clone(), reader: pool })
}

impl Dialect for sqlx::MySql {
    const BEGIN_WRITE: &'static str = "BEGIN";
    // The first statement applies to the next transaction only.
    const BEGIN_SNAPSHOT: &'static str =
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION WITH CONSISTENT SNAPSHOT";
    const INT: &'static str = "SIGNED";
}
