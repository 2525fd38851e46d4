//! Statements for all databases. Their placeholders: `?` for a value, `{now}` for the database's current time, `{skip locked}` for
//! the clause that makes a claim skip locked rows, `{values}` and `{if marked}` around the values of a row that is inserted only if
//! the marker of its unit of work exists (on databases whose statements can check it), `{insert}` and `{or ignore}` around a row that is
//! inserted unless its key exists, `{for share}` for the clause that locks the rows that are read against changes, `{greatest}` and
//! `{least}` for the functions over several values.

use super::dialect::{Dialect, Kind};
use super::driver::Connection;
use super::{Pool, Row};
use crate::sql::error::SqlError;
use crate::sql::transaction::close_if_over;
use std::sync::OnceLock;

/// The text of a statement, translated once per database, so the translations are leaked. Store it in a `static`.
pub(crate) struct Statement {
    source: &'static str,
    ready: [OnceLock<&'static str>; 3],
}

/// A value of a statement.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// A number.
    Int(i64),
    /// A number or `NULL`.
    MaybeInt(Option<i64>),
    /// Bytes.
    Bytes(&'a [u8]),
    /// Bytes or `NULL`.
    MaybeBytes(Option<&'a [u8]>),
    /// Text.
    Text(&'a str),
    /// Text or `NULL`.
    MaybeText(Option<&'a str>),
}

impl Value<'_> {
    /// A count or a time, limited to the largest number that a database stores.
    pub(crate) fn count(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl Statement {
    /// A statement that differs between databases only in its placeholders.
    pub(crate) const fn new(source: &'static str) -> Self {
        Self { source, ready: [OnceLock::new(), OnceLock::new(), OnceLock::new()] }
    }

    /// The statement for this database.
    pub(crate) fn text(&'static self, dialect: &Dialect) -> &'static str {
        self.ready[dialect.kind as usize].get_or_init(|| translate(self.source, dialect).leak())
    }

    /// Executes the statement; returns the number of affected rows.
    pub(crate) async fn execute(
        &'static self,
        connection: &mut Connection,
        values: &[Value<'_>],
    ) -> Result<u64, sqlx::Error> {
        connection.execute(self.text(connection.dialect()), values).await
    }

    /// Executes the statement on a connection of the pool; returns the number of affected rows.
    pub(crate) async fn run(&'static self, pool: &Pool, values: &[Value<'_>]) -> Result<u64, SqlError> {
        let mut connection = pool.acquire().await?;
        let answer = self.execute(&mut *connection, values).await;
        Ok(close_if_over(&mut connection, answer)?)
    }

    /// Executes the statement on a connection of the pool; returns its rows.
    pub(crate) async fn read(&'static self, pool: &Pool, values: &[Value<'_>]) -> Result<Vec<Row>, SqlError> {
        let mut connection = pool.acquire().await?;
        let answer = Row::all(&mut *connection, self, values).await;
        Ok(close_if_over(&mut connection, answer)?)
    }
}

/// The text of a statement for this database.
pub(crate) fn translate(source: &str, dialect: &Dialect) -> String {
    let ([greatest, least], [insert, or_ignore]) = (dialect.greatest_least, dialect.insert_ignore);
    let text = source.replace("{now}", dialect.now_ms).replace("{skip locked}", dialect.skip_locked);
    let text = text.replace("{greatest}", greatest).replace("{least}", least);
    let text =
        text.replace("{insert}", insert).replace("{or ignore}", or_ignore).replace("{for share}", dialect.for_share);
    // An `INSERT .. SELECT` without a table is slower.
    let (before, after) = if dialect.if_marked.is_empty() { ("VALUES (", ")") } else { ("SELECT ", dialect.if_marked) };
    let text = text.replace("{values}", before).replace("{if marked}", after);
    if dialect.kind != Kind::Postgres {
        return text;
    }
    let mut numbered = String::with_capacity(text.len() + 16);
    let mut number = 0;
    for part in text.split_inclusive('?') {
        match part.strip_suffix('?') {
            Some(before) => {
                number += 1;
                numbered.push_str(before);
                numbered.push('$');
                numbered.push_str(&number.to_string());
            }
            None => numbered.push_str(part),
        }
    }
    numbered
}

/// The maximum number of values of a list in a statement.
pub(crate) const LIST_MAX: usize = 256;

/// Lists are padded to few sizes, so that a connection caches few prepared statements.
const LIST_SIZES: [usize; 3] = [1, 16, LIST_MAX];

/// A statement that ends with a list of values, written `(..)`.
pub(crate) struct Lists {
    source: &'static str,
    ready: [[OnceLock<&'static str>; 3]; LIST_SIZES.len()],
}

impl Lists {
    /// The list must follow all other values.
    pub(crate) const fn new(source: &'static str) -> Self {
        Self { source, ready: [const { [const { OnceLock::new() }; 3] }; LIST_SIZES.len()] }
    }

    /// Sends the statement, once for each [`LIST_MAX`] values of the list; returns the number of affected rows.
    pub(crate) async fn execute(
        &'static self,
        connection: &mut Connection,
        before: &[Value<'_>],
        list: &[Value<'_>],
    ) -> Result<u64, sqlx::Error> {
        let mut affected = 0;
        for (size, part) in list.chunks(LIST_MAX).filter_map(padded) {
            affected += connection.execute(self.text(size, connection.dialect()), &[before, &part].concat()).await?;
        }
        Ok(affected)
    }

    /// Sends the statement, once for each [`LIST_MAX`] values of the list; returns its rows.
    #[cfg(feature = "queue")]
    pub(crate) async fn rows(
        &'static self,
        connection: &mut Connection,
        before: &[Value<'_>],
        list: &[Value<'_>],
    ) -> Result<Vec<Row>, sqlx::Error> {
        let mut rows = Vec::new();
        for (size, part) in list.chunks(LIST_MAX).filter_map(padded) {
            rows.extend(connection.rows(self.text(size, connection.dialect()), &[before, &part].concat()).await?);
        }
        Ok(rows)
    }

    fn text(&'static self, size: usize, dialect: &Dialect) -> &'static str {
        self.ready[size][dialect.kind as usize].get_or_init(|| {
            let marks = vec!["?"; LIST_SIZES[size]].join(", ");
            translate(&self.source.replace("(..)", &format!("({marks})")), dialect).leak()
        })
    }
}

/// The list padded to one of the sizes by repeating its last value, and the index of that size.
fn padded<T: Copy>(values: &[T]) -> Option<(usize, Vec<T>)> {
    let last = *values.last()?;
    let size = LIST_SIZES.iter().position(|size| *size >= values.len())?;
    let mut filled = values.to_vec();
    filled.resize(LIST_SIZES[size], last);
    Some((size, filled))
}

#[cfg(test)]
mod tests {
    use super::padded;

    #[test]
    fn list_is_padded_to_one_of_few_sizes() {
        assert_eq!(padded::<u8>(&[]), None);
        assert_eq!(padded(&[7]), Some((0, vec![7])));
        let (size, filled) = padded(&[1, 2, 3]).unwrap_or_default();
        assert_eq!((size, filled.len(), filled[15]), (1, 16, 3));
        assert_eq!(padded(&[0; 257]), None, "too long for one statement");
    }

    #[cfg(all(feature = "mysql", feature = "postgres", feature = "sqlite"))]
    #[test]
    fn placeholders_become_the_sql_of_each_database() {
        use super::translate;
        use crate::sql::database::Typed;
        let source = "{insert} t (a, b) {values} {greatest}(?, {least}(?, 1)), {now} {if marked} {or ignore}; \
            SELECT a FROM t WHERE b = ? {for share}; SELECT a FROM t {skip locked}";
        let of = |dialect| translate(source, dialect);
        assert_eq!(
            of(<sqlx::MySql as Typed>::DIALECT),
            "INSERT IGNORE INTO t (a, b) VALUES ( GREATEST(?, LEAST(?, 1)), CAST(@@timestamp * 1000 AS SIGNED) ) ; \
             SELECT a FROM t WHERE b = ? LOCK IN SHARE MODE; SELECT a FROM t FOR UPDATE SKIP LOCKED"
        );
        assert_eq!(
            of(<sqlx::Postgres as Typed>::DIALECT),
            "INSERT INTO t (a, b) SELECT  GREATEST($1, LEAST($2, 1)), (extract(epoch FROM clock_timestamp()) * 1000)::bigint \
             WHERE current_setting('evenkeel.work', true) = encode($1, 'hex') ON CONFLICT DO NOTHING; \
             SELECT a FROM t WHERE b = $3 FOR SHARE; SELECT a FROM t FOR UPDATE SKIP LOCKED"
        );
        assert_eq!(
            of(<sqlx::Sqlite as Typed>::DIALECT),
            "INSERT INTO t (a, b) VALUES ( MAX(?, MIN(?, 1)), CAST(unixepoch('subsec') * 1000 AS INTEGER) ) \
             ON CONFLICT DO NOTHING; SELECT a FROM t WHERE b = ? ; SELECT a FROM t "
        );
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn postgres_placeholders_are_numbered() {
        use super::Statement;
        static WITH_TWO: Statement = Statement::new("UPDATE t SET a = ? WHERE b = ? AND c < {now}");
        let text = WITH_TWO.text(<sqlx::Postgres as crate::sql::database::Typed>::DIALECT);
        assert!(text.starts_with("UPDATE t SET a = $1 WHERE b = $2 AND c < "), "{text}");
        assert!(!text.contains(['?', '{']), "{text}");
    }
}
