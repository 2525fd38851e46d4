//! [`Dialect`]: the SQL that differs between the databases. `statements` has the SQL that they share.

use std::future::Future;
use web::sql::{Driver, Statement};

/// The SQL of one database.
pub(in crate::store) trait Dialect: Driver + evenkeel::sql::Database {
    /// Begins a transaction that writes. Each of its statements sees what is committed when it starts (READ COMMITTED), or the
    /// transaction is the only writer (SQLite).
    const BEGIN_WRITE: &'static str;

    /// Prefix and suffix of an `INSERT` that does nothing if the row exists.
    const INSERT_IGNORE: (&'static str, &'static str);

    /// Prefix and suffix of an `INSERT` of two columns that updates the second column if the first one exists.
    const UPSERT: (&'static str, &'static str);

    /// Suffix of an `INSERT` into `link_clicks` that adds to the counters that exist.
    const ADD_CLICKS: &'static str;

    /// Reserves `count` numbers of the sequence. Returns the number after the last of them.
    fn reserve(connection: &mut Self::Connection, count: i64) -> impl Future<Output = Result<i64, sqlx::Error>> + Send;

    /// Adds the condition that code or target match the `LIKE` pattern, ignoring the case of A-Z.
    fn matches(statement: Statement, pattern: String) -> Statement;
}
