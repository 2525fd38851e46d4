//! [`RecordedConflict`]: accepted writes that could not be applied, recorded until they are dismissed.

use super::apply::SpooledWrite;
use super::database::{Dialect, Pools};
use super::{Connection, Store, StoreError, with_database};
use crate::domain::Conflict;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use web::sql::Statement;

/// A recorded conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedConflict {
    /// Its number; later conflicts have higher numbers.
    pub number: i64,
    /// Its details.
    pub details: ConflictDetails,
}

/// The details of a conflict, stored as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictDetails {
    /// Code of the link.
    pub code: String,
    /// Version that the write was accepted as.
    pub version: i64,
    /// Time at which the write was given up.
    pub noted_at: Timestamp,
    /// The reason as the API names it.
    pub reason: String,
    /// The reason in a sentence.
    pub detail: String,
    /// The accepted write.
    pub write: serde_json::Value,
}

impl Store {
    /// The newest conflicts, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn conflicts(&self, limit: u32) -> Result<Vec<RecordedConflict>, StoreError> {
        let rows = with_database!(self, pools => pools.conflicts(limit).await)?;
        rows.into_iter().map(RecordedConflict::read).collect()
    }

    /// Deletes a conflict. Returns whether it existed.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn dismiss_conflict(&self, number: i64) -> Result<bool, StoreError> {
        with_database!(self, pools => pools.dismiss_conflict(number).await)
    }
}

pub(super) async fn record<DB: Dialect>(
    connection: &mut DB::Connection,
    waiting: &SpooledWrite,
    conflict: &Conflict,
    now: Timestamp,
) -> Result<(), StoreError> {
    let details = ConflictDetails {
        code: waiting.write.code.to_string(),
        version: waiting.write.version,
        noted_at: now,
        reason: conflict.name().to_owned(),
        detail: conflict.to_string(),
        write: serde_json::from_str(&waiting.body).unwrap_or_default(),
    };
    // A struct of text and numbers always serializes.
    let details = serde_json::to_string(&details).unwrap_or_default();
    DB::execute_statement(connection, Statement::new("INSERT INTO link_conflicts (told) VALUES ").list([details]))
        .await?;
    Ok(())
}

impl RecordedConflict {
    fn read((number, details): (i64, String)) -> Result<Self, StoreError> {
        let unreadable = |why| StoreError::Corrupt(format!("conflict {number}: {why}"));
        Ok(Self { number, details: serde_json::from_str(&details).map_err(unreadable)? })
    }
}

impl<DB: Dialect> Pools<DB> {
    async fn conflicts(&self, limit: u32) -> Result<Vec<(i64, String)>, StoreError> {
        let select = Statement::new("SELECT id, told FROM link_conflicts ORDER BY id DESC LIMIT ");
        let rows = DB::fetch_rows(&mut *self.reader().await?, select.bind(i64::from(limit))).await?;
        rows.iter().map(|row| Ok((DB::int_at(row, 0)?, DB::text_at(row, 1)?))).collect()
    }

    async fn dismiss_conflict(&self, number: i64) -> Result<bool, StoreError> {
        let delete = Statement::new("DELETE FROM link_conflicts WHERE id = ").bind(number);
        Ok(DB::execute_statement(&mut *self.writer().await?, delete).await? > 0)
    }
}
