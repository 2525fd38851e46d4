//! [`Dialect`]: what the databases do their own way. Everything else is written once, in `statements`.

use std::future::Future;
use web::sql::{Driver, Statement};

/// One database's own words.
pub(super) trait Dialect: Driver + evenkeel::sql::Database {
    /// How a transaction begins that may write. Its reads see what is committed at the time of each statement, or (SQLite) nobody
    /// else writes meanwhile.
    const OPENS: &'static str;

    /// Ends a `SELECT` whose rows nobody else shall change until the end of the transaction.
    const HOLDS: &'static str;

    /// Before and after an `INSERT INTO` that changes nothing if the row is there.
    const KEEPS: (&'static str, &'static str);

    /// Before and after an `INSERT INTO` of two columns that gives the row of the same first one another second one.
    const REPLACES: (&'static str, &'static str);

    /// Takes `count` numbers of the sequence; answers the one after the last of them.
    fn reserve(connection: &mut Self::Connection, count: i64) -> impl Future<Output = Result<i64, sqlx::Error>> + Send;

    /// The condition that code or target contain what `pattern` (of `LIKE`) says, whatever the case of A-Z.
    fn matches(statement: Statement, pattern: String) -> Statement;
}
