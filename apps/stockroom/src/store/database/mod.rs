//! [`Dialect`]: where the databases differ, and [`Pools`], the connections to one of them.
//!
//! Statements are written once: `?` is a placeholder, `{int}` the type to which a sum is cast, and `{for_update}` the clause that locks
//! the selected rows until the transaction ends.

mod migrations;
pub(super) mod mysql;
pub(super) mod postgres;
pub(super) mod sqlite;

use evenkeel::sql::{ForUpdate, PoolTransaction};
use sqlx::Pool;
use std::future::Future;
use std::time::Duration;
use web::sql::{Driver, PoolLimits, Statement, Value};

/// Name of the migrations table. Another program in the same database may use sqlx's default name.
const MIGRATIONS: &str = "stock_migrations";

/// How long the start waits for a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The pool on a database server. The timeout is long because changes of one product also queue for connections.
const POOL: PoolLimits = PoolLimits { connections_max: 16, acquire_timeout: Duration::from_secs(30) };

/// The connections to one database. On a server, both pools are the same. SQLite has one writer at a time, and the pool's queue is
/// fairer than its busy lock.
pub(crate) struct Pools<DB: Dialect> {
    pub(crate) writer: Pool<DB>,
    pub(crate) reader: Pool<DB>,
}

impl<DB: Dialect> Pools<DB> {
    /// Begins a transaction that writes; dropped, it is rolled back.
    pub(crate) async fn begin(&self) -> Result<PoolTransaction<DB>, sqlx::Error> {
        PoolTransaction::begin(&self.writer, DB::BEGIN_WRITE).await
    }

    pub(crate) async fn close(&self) {
        self.reader.close().await;
        self.writer.close().await;
    }
}

/// What differs between the databases.
pub(crate) trait Dialect: Driver + evenkeel::sql::Database {
    /// Begins a transaction that writes.
    const BEGIN_WRITE: &'static str;
    /// Begins a transaction that reads a snapshot.
    const BEGIN_SNAPSHOT: &'static str;
    /// The type for `{int}`.
    const INT: &'static str;

    /// Executes a statement and returns the number of affected rows.
    fn send(
        connection: &mut Self::Connection,
        sql: &str,
        values: &[Value],
    ) -> impl Future<Output = Result<u64, sqlx::Error>> + Send {
        Self::execute_statement(connection, statement::<Self>(sql, values))
    }

    /// Executes a query and returns its rows.
    fn fetch(
        connection: &mut Self::Connection,
        sql: &str,
        values: &[Value],
    ) -> impl Future<Output = Result<Vec<Self::Row>, sqlx::Error>> + Send {
        Self::fetch_rows(connection, statement::<Self>(sql, values))
    }

    /// Executes a query and returns its first row.
    fn fetch_first(
        connection: &mut Self::Connection,
        sql: &str,
        values: &[Value],
    ) -> impl Future<Output = Result<Option<Self::Row>, sqlx::Error>> + Send {
        let rows = Self::fetch(connection, sql, values);
        async move { Ok(rows.await?.into_iter().next()) }
    }
}

fn statement<DB: Dialect>(sql: &str, values: &[Value]) -> Statement {
    let sql = sql.replace("{for_update}", &ForUpdate::Wait.of::<DB>("").0).replace("{int}", DB::INT);
    Statement::with_values(&sql, values.iter().cloned())
}
