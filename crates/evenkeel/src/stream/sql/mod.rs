//! Streams that are registered in a database: the checkpoints of their groups are rows, and so are the entries of units of work until every
//! registered group has settled them. After a loss the groups are created again from their checkpoints, and the relay sends those entries
//! again. docs/spec/stream.md specifies the steps.
//!
//! `table.rs` is the interface to the database and `rows.rs` implements it; `recovery.rs` creates what Redis has lost; `checkpoints.rs`
//! registers groups and stores what they have settled.

mod checkpoints;
mod recovery;
mod rows;
mod table;

#[cfg(feature = "testing")]
pub(crate) use checkpoints::save_late;
pub(crate) use checkpoints::{add_group, add_known_groups, save};
pub(crate) use recovery::{create_again, ensure_created};
pub(crate) use rows::SqlTable;
pub use table::Loss;
pub(crate) use table::{GroupRow, StreamTable};

use crate::sql::SqlError;
use crate::sql::sink::appends::TOPIC_PREFIX;
use crate::stream::base::Base;
use evenkeel_link::clock::Clock;
use evenkeel_protocol::stream::StreamError;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// The deadline of one call of the database.
const DEADLINE: Duration = Duration::from_secs(30);

/// The databases that a keel knows: those with which its streams were opened, and those of its relays.
#[derive(Default)]
pub(crate) struct Databases {
    tables: Mutex<Vec<Arc<dyn StreamTable>>>,
    /// One stream at a time is created again in this process: all of its partitions are lost at once, and each has a worker.
    recovery: tokio::sync::Mutex<()>,
}

impl Databases {
    /// Adds a database, unless it is known.
    pub(crate) fn add(&self, table: Arc<dyn StreamTable>) {
        let mut tables = self.tables.lock();
        if tables.iter().all(|known| known.place() != table.place()) {
            tables.push(table);
        }
    }
}

impl Base {
    /// The name of the stream in the database: the topic of its messages in the outbox.
    pub(crate) fn topic(&self) -> String {
        format!("{TOPIC_PREFIX}{}", self.name)
    }

    /// The database in which the stream is registered; `None` if no database that this keel knows has it.
    pub(crate) async fn table(&self) -> Result<Option<Arc<dyn StreamTable>>, StreamError> {
        let (topic, tables) = (self.topic(), self.streams.databases.tables.lock().clone());
        let mut failed = None;
        for table in tables {
            match bounded(table.incarnation(&topic)).await {
                Ok(Ok(Some(_))) => return Ok(Some(table)),
                // The database of a relay need not have the tables.
                Ok(Ok(None) | Err(SqlError::NotMigrated)) => {}
                Ok(Err(error)) | Err(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok(None), |error| Err(of(&error)))
    }
}

/// Awaits a call of the database.
pub(crate) async fn ask<T>(call: impl Future<Output = Result<T, SqlError>>) -> Result<T, StreamError> {
    match bounded(call).await {
        Ok(answer) => answer.map_err(|error| of(&error)),
        Err(error) => Err(of(&error)),
    }
}

/// Awaits a call of the database, with a deadline by the system clock, because it waits for a server.
async fn bounded<T>(call: impl Future<Output = T>) -> Result<T, SqlError> {
    let late = SqlError::Busy("the database did not reply within 30 s; the statement may have been executed");
    Clock::system().timeout(DEADLINE, call).await.map_err(|_| late)
}

fn of(error: &SqlError) -> StreamError {
    StreamError::Database { reason: error.to_string(), is_retryable: error.is_retryable() }
}
