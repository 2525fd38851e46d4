//! [`Poll`]: a source that reads the rows of a table whose version has grown.

use super::{
    Anchor, Barrier, Change, EVENTS_MAX, Event, Identity, Kind, Position, Row, Source, SourceError, StartAt, Started,
    Table, Value,
};
use crate::sql::database::{self, Database, Pool};
use async_trait::async_trait;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Polls a table with a column that grows with every change of a row: a version from a sequence, or a time of the last change in ms. Needs no
/// log, privilege or trigger, and works on every database. Without an index on the column each poll reads the whole table.
///
/// **Guarantee.** Every row is returned after each change that raises the column, if its transaction commits before the column has grown
/// further than the overlap elsewhere in the table.
/// **Not guaranteed.** Deletes: a row that is gone is not found. The old key of a row whose key was changed. A transaction that commits
/// after the column has grown by more than the overlap. A table that was restored from an older state.
pub struct Poll {
    pool: Pool,
    table: Table,
    /// With the quotes of the database.
    names: Names,
    columns: Arc<[Arc<str>]>,
    overlap: u64,
    every: Duration,
    epoch: u64,
    /// The highest version that was returned.
    high: i64,
    /// The version up to which the current pass has come; `None` between two passes.
    pass: Option<i64>,
    /// What was returned of the overlap: rows with their versions.
    seen: BTreeSet<Found>,
}

struct Names {
    table: String,
    version: String,
    list: String,
}

/// A row: its version, and its columns as text.
type Found = (i64, Vec<Option<String>>);

impl Poll {
    /// Polls `table` (`users`, or `public.users`) by its column `version`, which has integers above zero. Each poll reads rows
    /// above the highest version so far less `overlap`: rows of transactions that took their version earlier and committed later are found
    /// in it. For a version from a sequence it is how many versions may be taken while a transaction is open, for a time in ms how long
    /// transactions last.
    ///
    /// `columns` are those that rules need: numbers and texts. Their values are read as text.
    #[must_use]
    pub fn new<'a, DB: Database>(
        pool: &sqlx::Pool<DB>,
        table: &str,
        version: &str,
        overlap: u64,
        columns: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Self::on(DB::erased(pool), table, version, overlap, columns.into_iter().map(Arc::from).collect())
    }

    fn on(pool: Pool, table: &str, version: &str, overlap: u64, columns: Arc<[Arc<str>]>) -> Self {
        let kind = pool.dialect().kind;
        let (schema, name) = table.split_once('.').unwrap_or(("", table));
        let quoted: Vec<String> = table.split('.').map(|part| quote(kind, part)).collect();
        let list = columns.iter().map(|name| as_text(kind, &quote(kind, name)));
        // As it is, so that an index serves conditions and order.
        let version = quote(kind, version);
        let list = std::iter::once(as_int(kind, &version)).chain(list).collect::<Vec<_>>().join(", ");
        Self {
            pool,
            table: Table { schema: schema.into(), name: name.into() },
            names: Names { table: quoted.join("."), version, list },
            columns,
            overlap,
            every: Duration::from_secs(1),
            epoch: 1,
            high: 0,
            pass: None,
            seen: BTreeSet::new(),
        }
    }

    /// The pause between two polls that find nothing. Default: a second.
    #[must_use]
    pub fn every(mut self, span: Duration) -> Self {
        self.every = span;
        self
    }

    /// Where a pass begins: rows with a version above this may be new.
    fn low(&self) -> i64 {
        let overlap = i64::try_from(self.overlap).unwrap_or(i64::MAX);
        self.high.saturating_sub(overlap).max(0)
    }

    fn position(&self) -> Position {
        let order = (u64::try_from(self.high).unwrap_or(0), 0);
        Position { epoch: self.epoch, order, text: self.high.to_string() }
    }

    async fn rows(&self, text: String) -> Result<Vec<database::Row>, SourceError> {
        let unavailable = |error: sqlx::Error| SourceError::Unavailable(error.to_string());
        let mut connection = self.pool.acquire().await.map_err(unavailable)?;
        connection.rows_of_text(text).await.map_err(unavailable)
    }

    /// Rows whose version fulfills a condition, in its order.
    async fn find(&self, condition: String, limit: &str) -> Result<Vec<Found>, SourceError> {
        let Names { table, version, list } = &self.names;
        let text = format!("SELECT {list} FROM {table} WHERE {version} {condition} ORDER BY {version}{limit}");
        let read = |row: &database::Row| -> Result<Found, sqlx::Error> {
            let columns = (1..=self.columns.len()).map(|at| row.optional_text(at));
            Ok((row.int(0)?, columns.collect::<Result<_, _>>()?))
        };
        let rows = self.rows(text).await?;
        rows.iter().map(read).collect::<Result<_, _>>().map_err(|error| SourceError::Unreadable {
            position: self.position(),
            what: error.to_string(),
            remedy: "name only columns that have numbers or texts".to_owned(),
        })
    }

    /// The next page of a pass, and the version up to which it is complete; `None` after the last page.
    async fn page(&self, from: i64) -> Result<(Vec<Found>, Option<i64>), SourceError> {
        let mut rows = self.find(format!("> {from}"), &format!(" LIMIT {EVENTS_MAX}")).await?;
        let Some((last, _)) = rows.last().cloned().filter(|_| rows.len() >= EVENTS_MAX) else {
            return Ok((rows, None));
        };
        // There may be more rows of the last version: they are left to the next page, or read with this one if it has no other.
        rows.retain(|(version, _)| *version < last);
        if rows.is_empty() {
            rows = self.find(format!("= {last}"), "").await?;
            return Ok((rows, Some(last)));
        }
        let complete = rows.last().map(|(version, _)| *version);
        Ok((rows, complete))
    }

    /// The rows of a page that were not returned yet, as one group.
    fn group(&mut self, rows: Vec<Found>) -> Vec<Event> {
        let new: Vec<Found> = rows.into_iter().filter(|row| self.seen.insert(row.clone())).collect();
        let Some((last, _)) = new.last() else { return Vec::new() };
        self.high = self.high.max(*last);
        let low = self.low();
        let position = self.position();
        let changes = new.iter().map(|(_, values)| {
            let value = |value: &Option<String>| Some(value.clone().map_or(Value::Null, Value::Text));
            let after = Some(Row::new(Arc::clone(&self.columns), values.iter().map(value).collect()));
            Event::Change(Change { table: self.table.clone(), kind: Kind::Insert, before: None, after })
        });
        let begin = std::iter::once(Event::Begin { position: position.clone() });
        let events: Vec<Event> = begin.chain(changes).collect();
        self.seen.retain(|(version, _)| *version > low);
        let commit = Event::Commit { position, anchor: Anchor::default(), at_ms: None };
        events.into_iter().chain([commit]).collect()
    }
}

#[async_trait]
impl Source for Poll {
    async fn start(&mut self, at: StartAt) -> Result<Started, SourceError> {
        (self.pass, self.seen) = (None, BTreeSet::new());
        match at {
            StartAt::Checkpoint(checkpoint) => {
                let unreadable = |_| SourceError::Refused {
                    what: format!("the checkpoint {:?} is not one of a source that polls", checkpoint.position),
                    remedy: "give each kind of source a name of its own".to_owned(),
                };
                self.high = checkpoint.position.parse().map_err(unreadable)?;
                self.epoch = checkpoint.epoch;
            }
            StartAt::End { epoch } => {
                let Names { table, version, .. } = &self.names;
                let number = as_int(self.pool.dialect().kind, version);
                // NULL comes first in the descending order of PostgreSQL.
                let text = format!("SELECT {number} FROM {table} WHERE {version} > 0 ORDER BY {version} DESC LIMIT 1");
                let last = self.rows(text).await?;
                let last = last.first().map(|row| row.int(0)).transpose();
                self.high = last.map_err(|error| SourceError::Unavailable(error.to_string()))?.unwrap_or(0);
                self.epoch = epoch;
            }
        }
        let identity = Identity(format!("poll {}", self.table));
        Ok(Started { identity, position: self.position() })
    }

    async fn next(&mut self) -> Result<Vec<Event>, SourceError> {
        loop {
            let from = self.pass.unwrap_or_else(|| self.low());
            let (rows, complete) = self.page(from).await?;
            self.pass = complete;
            let events = self.group(rows);
            if !events.is_empty() {
                return Ok(events);
            }
            if self.pass.is_none() {
                return Ok(vec![Event::Idle { position: self.position() }]);
            }
        }
    }

    async fn barrier(&mut self, _: &Position) -> Result<Barrier, SourceError> {
        // A statement has seen the rows.
        Ok(Barrier::Visible)
    }

    async fn confirm(&mut self, _: &Position) -> Result<(), SourceError> {
        Ok(())
    }

    fn idle_pause(&self) -> Duration {
        self.every
    }
}

fn quote(kind: database::Kind, name: &str) -> String {
    match kind {
        database::Kind::MySql => format!("`{}`", name.replace('`', "``")),
        database::Kind::Postgres | database::Kind::Sqlite => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

fn as_text(kind: database::Kind, column: &str) -> String {
    match kind {
        // The driver reads texts of the library as bytes there.
        database::Kind::MySql => format!("CAST(CAST({column} AS CHAR) AS BINARY)"),
        database::Kind::Postgres => format!("{column}::text"),
        database::Kind::Sqlite => format!("CAST({column} AS TEXT)"),
    }
}

fn as_int(kind: database::Kind, column: &str) -> String {
    match kind {
        database::Kind::MySql => format!("CAST({column} AS SIGNED)"),
        database::Kind::Postgres => format!("{column}::bigint"),
        database::Kind::Sqlite => column.to_owned(),
    }
}
