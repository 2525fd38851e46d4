//! [`ChangeTable`]: a source for SQLite, which has no log to read: triggers write each change into a table.

use super::{
    Anchor, Barrier, Change, EVENTS_MAX, Event, Gap, GapCause, Identity, Kind, Position, Row, Source, SourceError,
    StartAt, Started, Table, Value,
};
use crate::sql::database::{self, Pool, Statement};
use crate::sql::{SqlError, Transaction};
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde_json::Value as Json;
use sqlx::SqlSafeStr;
use std::fmt::Write;
use std::time::Duration;

/// The changes of tables of a SQLite database, whoever makes them: triggers write each into the table `evenkeel_cdc_log`, in the
/// transaction of the change.
///
/// **Guarantee.** Exact: every row that is inserted, updated or deleted by any program is returned, in the order of the commits, because
/// SQLite has one writer at a time. A database that was restored from an older state is a gap.
/// **Not guaranteed.** Rows that `INSERT OR REPLACE` removes because of a key other than their own: SQLite runs no trigger for them, unless
/// the program sets `PRAGMA recursive_triggers = ON`. Changes while a trigger is missing: a table that is dropped takes its triggers along.
///
/// One reader at a time reads the table, under one name, and deletes what it has carried out.
pub struct ChangeTable {
    pool: Pool,
    tables: Vec<(String, Vec<String>)>,
    every: Duration,
    epoch: u64,
    /// The last change that was returned.
    last: i64,
}

static CREATE: Statement = Statement::new(
    "CREATE TABLE IF NOT EXISTS evenkeel_cdc_log (id INTEGER PRIMARY KEY AUTOINCREMENT, \
     tag TEXT NOT NULL DEFAULT (lower(hex(randomblob(8)))), at_ms INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)), \
     source TEXT NOT NULL, kind TEXT NOT NULL, row_before TEXT NULL, row_after TEXT NULL) STRICT",
);
static CREATE_NAME: Statement = Statement::new(
    "CREATE TABLE IF NOT EXISTS evenkeel_cdc_log_name (id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL) STRICT",
);
static NAME_IT: Statement = Statement::new(
    "INSERT INTO evenkeel_cdc_log_name (id, name) VALUES (1, lower(hex(randomblob(8)))) ON CONFLICT DO NOTHING",
);
static NAME: Statement = Statement::new("SELECT name FROM evenkeel_cdc_log_name");
static END: Statement = Statement::new("SELECT MAX(seq) FROM sqlite_sequence WHERE name = 'evenkeel_cdc_log'");
static TAG: Statement = Statement::new("SELECT tag FROM evenkeel_cdc_log WHERE id = ?");
static TRIGGERS: Statement = Statement::new(
    "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'evenkeel\\_cdc\\_%' ESCAPE '\\'",
);
static NEXT: Statement = Statement::new(
    "SELECT id, tag, at_ms, source, kind, row_before, row_after FROM evenkeel_cdc_log WHERE id > ? ORDER BY id LIMIT ?",
);
/// The last one stays, so that a later start finds the anchor of its checkpoint.
static CONFIRM: Statement = Statement::new("DELETE FROM evenkeel_cdc_log WHERE id < ?");

impl ChangeTable {
    /// Of the database of `pool`.
    #[must_use]
    pub fn new(pool: &sqlx::SqlitePool) -> Self {
        let pool = Pool::Sqlite(pool.clone());
        Self { pool, tables: Vec::new(), every: Duration::from_millis(50), epoch: 1, last: 0 }
    }

    /// Adds a table, and those of its columns that rules need.
    #[must_use]
    pub fn table<'a>(mut self, table: &str, columns: impl IntoIterator<Item = &'a str>) -> Self {
        self.tables.push((table.to_owned(), columns.into_iter().map(str::to_owned).collect()));
        self
    }

    /// The pause between two looks that find nothing. Default: 50 ms.
    #[must_use]
    pub fn every(mut self, span: Duration) -> Self {
        self.every = span;
        self
    }

    /// Creates the table of changes, and the triggers of each table anew, in one transaction. Changes from its commit on are captured.
    ///
    /// # Errors
    /// [`SqlError::Database`]: a table or a column does not exist, say. It may be repeated.
    pub fn install(&self) -> BoxFuture<'_, Result<(), SqlError>> {
        Box::pin(async move {
            let mut transaction = Transaction::begin(&self.pool, self.pool.dialect().begin.into_sql_str()).await?;
            for statement in [&CREATE, &CREATE_NAME, &NAME_IT] {
                statement.execute(&mut *transaction, &[]).await?;
            }
            for (table, columns) in &self.tables {
                for text in KINDS.iter().flat_map(|kind| trigger(*kind, table, columns)) {
                    transaction.send_text(text, &[]).await?;
                }
            }
            Ok(transaction.commit().await?)
        })
    }

    /// Drops the triggers of each table, so that columns can be dropped, or capture ends. What they have written stays.
    ///
    /// # Errors
    /// [`SqlError::Database`]. It may be repeated.
    pub fn uninstall(&self) -> BoxFuture<'_, Result<(), SqlError>> {
        Box::pin(async move {
            for (table, _) in &self.tables {
                let mut connection = self.pool.acquire().await?;
                for (kind, ..) in KINDS {
                    let text = format!("DROP TRIGGER IF EXISTS {}", quote(&trigger_name(kind, table)));
                    connection.send_text(text, &[]).await?;
                }
            }
            Ok(())
        })
    }

    fn position(&self, id: i64) -> Position {
        Position { epoch: self.epoch, order: (u64::try_from(id).unwrap_or(0), 0), text: id.to_string() }
    }

    async fn read(
        &self,
        statement: &'static Statement,
        values: &[database::Value<'_>],
    ) -> Result<Vec<database::Row>, SourceError> {
        statement.read(&self.pool, values).await.map_err(unavailable)
    }

    /// An error unless all triggers exist.
    async fn check(&self) -> Result<(), SourceError> {
        let rows = self.read(&TRIGGERS, &[]).await?;
        let names = rows.iter().map(|row| row.text(0)).collect::<Result<Vec<_>, _>>();
        let names = names.map_err(unavailable)?;
        for (table, _) in &self.tables {
            if KINDS.iter().any(|(kind, ..)| !names.contains(&trigger_name(kind, table))) {
                let what = format!("table {table:?} has no triggers");
                return Err(SourceError::Refused { what, remedy: "Call ChangeTable::install()".to_owned() });
            }
        }
        Ok(())
    }

    /// An error unless the log continues the checkpoint.
    async fn check_anchor(&self, id: i64, end: i64, anchor: &Anchor) -> Result<(), SourceError> {
        if end < id {
            let detail = format!("the checkpoint is at change {id}, the table of changes ends at {end}");
            return Err(SourceError::Gap(Gap { cause: GapCause::RolledBack, detail }));
        }
        if anchor.0.is_empty() {
            return Ok(());
        }
        let rows = self.read(&TAG, &[database::Value::Int(id)]).await?;
        let tag = rows.first().map(|row| row.text(0)).transpose().map_err(unavailable)?;
        match tag {
            Some(tag) if tag == anchor.0 => Ok(()),
            Some(_) => Err(SourceError::Gap(Gap {
                cause: GapCause::AnchorMismatch,
                detail: format!("change {id} is not the one that the checkpoint names"),
            })),
            None => Err(SourceError::Gap(Gap {
                cause: GapCause::Purged,
                detail: format!("change {id} was deleted, and others after it may have been"),
            })),
        }
    }
}

#[async_trait]
impl Source for ChangeTable {
    async fn start(&mut self, at: StartAt) -> Result<Started, SourceError> {
        self.check().await?;
        let text = |rows: Vec<database::Row>| rows.first().map(|row| row.text(0)).transpose();
        let name = text(self.read(&NAME, &[]).await?).map_err(unavailable)?.unwrap_or_default();
        let identity = Identity(format!("change table {name}"));
        let end = self.read(&END, &[]).await?;
        let end = end.first().map(|row| row.int(0)).transpose().map_err(unavailable)?.unwrap_or(0);
        match at {
            StartAt::End { epoch } => (self.epoch, self.last) = (epoch, end),
            StartAt::Checkpoint(checkpoint) => {
                if checkpoint.identity != identity {
                    let detail = format!("the checkpoint is of {}, this is {}", checkpoint.identity.0, identity.0);
                    return Err(SourceError::Gap(Gap { cause: GapCause::OtherSource, detail }));
                }
                let id = checkpoint.position.parse().map_err(|_| SourceError::Refused {
                    what: format!("the checkpoint {:?} is not one of a table of changes", checkpoint.position),
                    remedy: "Give each source a name of its own".to_owned(),
                })?;
                self.check_anchor(id, end, &checkpoint.anchor).await?;
                (self.epoch, self.last) = (checkpoint.epoch, id);
            }
        }
        Ok(Started { identity, position: self.position(self.last) })
    }

    async fn next(&mut self) -> Result<Vec<Event>, SourceError> {
        // Each change is three events.
        let values = [database::Value::Int(self.last), database::Value::count(EVENTS_MAX as u64 / 3)];
        let rows = self.read(&NEXT, &values).await?;
        let mut events = Vec::with_capacity(rows.len() * 3);
        for row in &rows {
            let id = row.int(0).map_err(unavailable)?;
            let position = self.position(id);
            let (change, anchor, at_ms) = decode(row).map_err(|what| SourceError::Unreadable {
                position: position.clone(),
                what,
                remedy: "Delete the row from evenkeel_cdc_log after you have invalidated what it changed".to_owned(),
            })?;
            events.push(Event::Begin { position: position.clone() });
            events.push(Event::Change(change));
            events.push(Event::Commit { position, anchor, at_ms });
            self.last = id;
        }
        if events.is_empty() {
            events.push(Event::Idle { position: self.position(self.last) });
        }
        Ok(events)
    }

    async fn barrier(&mut self, _: &Position) -> Result<Barrier, SourceError> {
        // A statement has seen the row, which its transaction wrote with the change.
        Ok(Barrier::Visible)
    }

    async fn confirm(&mut self, position: &Position) -> Result<(), SourceError> {
        let Ok(id) = position.text.parse() else { return Ok(()) };
        CONFIRM.run(&self.pool, &[database::Value::Int(id)]).await.map_err(unavailable).map(drop)
    }

    fn idle_pause(&self) -> Duration {
        self.every
    }
}

fn unavailable(error: impl Into<SqlError>) -> SourceError {
    let error: SqlError = error.into();
    SourceError::Unavailable(error.to_string())
}

/// The triggers of a table: the last part of the name, the event, and the images.
const KINDS: [(&str, &str, Option<&str>, Option<&str>); 3] = [
    ("insert", "INSERT", None, Some("NEW")),
    ("update", "UPDATE", Some("OLD"), Some("NEW")),
    ("delete", "DELETE", Some("OLD"), None),
];

fn trigger_name(kind: &str, table: &str) -> String {
    format!("evenkeel_cdc_{table}_{kind}")
}

fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The statements that create a trigger anew.
fn trigger(
    (kind, event, before, after): (&str, &str, Option<&str>, Option<&str>),
    table: &str,
    columns: &[String],
) -> [String; 2] {
    let name = quote(&trigger_name(kind, table));
    let image = |of: Option<&str>| of.map_or_else(|| "NULL".to_owned(), |of| image(of, columns));
    let create = format!(
        "CREATE TRIGGER {name} AFTER {event} ON {} BEGIN INSERT INTO evenkeel_cdc_log (source, kind, row_before, row_after) \
         VALUES ({}, {}, {}, {}); END",
        quote(table),
        literal(table),
        literal(kind),
        image(before),
        image(after),
    );
    [format!("DROP TRIGGER IF EXISTS {name}"), create]
}

/// An image of a row as JSON: each value with its type, because JSON has no bytes.
fn image(of: &str, columns: &[String]) -> String {
    let mut text = "json_object(".to_owned();
    for (place, column) in columns.iter().enumerate() {
        let value = format!("{of}.{}", quote(column));
        let comma = if place == 0 { "" } else { ", " };
        let _ = write!(
            text,
            "{comma}{}, json_array(typeof({value}), CASE typeof({value}) WHEN 'blob' THEN hex({value}) ELSE {value} END)",
            literal(column)
        );
    }
    text.push(')');
    text
}

fn decode(row: &database::Row) -> Result<(Change, Anchor, Option<u64>), String> {
    let text = |at: usize| row.text(at).map_err(|error| error.to_string());
    let image = |at: usize| {
        let text = row.optional_text(at).map_err(|error| error.to_string())?;
        text.map(|text| read_image(&text)).transpose()
    };
    let kind = match text(4)?.as_str() {
        "insert" => Kind::Insert,
        "update" => Kind::Update,
        "delete" => Kind::Delete,
        other => return Err(format!("the kind {other:?} is unknown")),
    };
    let table = Table { schema: "main".into(), name: text(3)?.into() };
    let change = Change { table, kind, before: image(5)?, after: image(6)? };
    let at_ms = row.count(2).map_err(|error| error.to_string())?;
    Ok((change, Anchor(text(1)?), Some(at_ms)))
}

/// Reads what [`image`] wrote.
fn read_image(text: &str) -> Result<Row, String> {
    let columns: serde_json::Map<String, Json> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut row = Vec::with_capacity(columns.len());
    for (name, typed) in &columns {
        let value = match typed.as_array().map(Vec::as_slice) {
            Some([Json::String(kind), value]) => value_of(kind, value),
            _ => None,
        };
        row.push((name.as_str(), value.ok_or_else(|| format!("the value of column {name:?} cannot be decoded"))?));
    }
    Ok(row.into_iter().collect())
}

fn value_of(kind: &str, value: &Json) -> Option<Value> {
    match kind {
        "null" => Some(Value::Null),
        "integer" => value.as_i64().map(Value::Int),
        "real" => value.as_f64().map(Value::Float),
        "text" => value.as_str().map(|text| Value::Text(text.to_owned())),
        "blob" => from_hex(value.as_str()?).map(Value::Bytes),
        _ => None,
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // shows: hazard CD9
    #[test]
    fn image_has_every_type_of_value() {
        let text = r#"{"a":["null",null],"b":["integer",-7],"c":["real",1.5],"d":["text","x"],"e":["blob","00Ff"]}"#;
        let row = read_image(text);
        let expected = [
            ("a", Value::Null),
            ("b", Value::Int(-7)),
            ("c", Value::Float(1.5)),
            ("d", Value::Text("x".to_owned())),
            ("e", Value::Bytes(vec![0, 255])),
        ];
        assert_eq!(row, Ok(expected.into_iter().collect()));
    }

    // shows: D3
    #[test]
    fn damaged_image_is_an_error() {
        let damaged = ["", "[]", "null", "{", r#"{"a":1}"#, r#"{"a":["integer"]}"#, r#"{"a":["integer","7"]}"#];
        let more = [r#"{"a":["blob","0"]}"#, r#"{"a":["blob","é1"]}"#, r#"{"a":["set",1]}"#, r#"{"a":["real",null]}"#];
        for text in damaged.into_iter().chain(more) {
            assert!(read_image(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_in_triggers_are_quoted() {
        let [_, text] = trigger(KINDS[2], "o'\"x", &["c\"d".to_owned()]);
        assert!(text.contains(r#"DELETE ON "o'""x" BEGIN"#), "{text}");
        assert!(text.contains(r#"('o''"x', 'delete', json_object('c"d', json_array(typeof(OLD."c""d")"#), "{text}");
    }
}
