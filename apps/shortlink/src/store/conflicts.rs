//! [`KeptConflict`]: writes that were accepted and could not be done. They wait for somebody to look at them.

use super::dialect::Dialect;
use super::pools::Pools;
use super::settle::Waiting;
use super::{Connection, Store, StoreError, with_database};
use crate::domain::Conflict;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use web::sql::Statement;

/// An accepted write that the database refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptConflict {
    /// Its number; they rise.
    pub number: i64,
    /// What is told of it.
    pub told: Told,
}

/// What is told of a conflict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Code of the link.
    pub code: String,
    /// Version that the write was accepted as.
    pub version: i64,
    /// Time at which the write was given up.
    pub noted_at: Timestamp,
    /// Why, in one word.
    pub reason: String,
    /// Why, in a sentence.
    pub detail: String,
    /// The accepted write.
    pub write: serde_json::Value,
}

impl Store {
    /// The newest conflicts, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn conflicts(&self, limit: u32) -> Result<Vec<KeptConflict>, StoreError> {
        let rows = with_database!(self, pools => pools.conflicts(limit).await)?;
        rows.into_iter().map(KeptConflict::read).collect()
    }

    /// Forgets a conflict: somebody has seen to it. Answers whether there was one of this number.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn dismiss_conflict(&self, number: i64) -> Result<bool, StoreError> {
        with_database!(self, pools => pools.dismiss_conflict(number).await)
    }
}

pub(super) async fn keep<DB: Dialect>(
    connection: &mut DB::Connection,
    waiting: &Waiting,
    conflict: &Conflict,
    now: Timestamp,
) -> Result<(), StoreError> {
    let told = Told {
        code: waiting.write.code.to_string(),
        version: waiting.write.version,
        noted_at: now,
        reason: conflict.name().to_owned(),
        detail: conflict.to_string(),
        write: serde_json::from_str(&waiting.body).unwrap_or_default(),
    };
    // A struct of texts and numbers can always be written.
    let told = serde_json::to_string(&told).unwrap_or_default();
    DB::execute_statement(connection, Statement::new("INSERT INTO link_conflicts (told) VALUES ").list([told])).await?;
    Ok(())
}

impl KeptConflict {
    fn read((number, told): (i64, String)) -> Result<Self, StoreError> {
        let unreadable = |why| StoreError::Corrupt(format!("conflict {number}: {why}"));
        Ok(Self { number, told: serde_json::from_str(&told).map_err(unreadable)? })
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
