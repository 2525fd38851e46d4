//! What the database has about a stream that is registered in it.

use super::StreamAdmin;
use crate::stream::sql::{Loss, ask};
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::id::EntryId;

/// How far a group had come in a partition when its consumers last stored it, which they do twice a minute.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The group.
    pub group: String,
    /// The number of the partition.
    pub partition: u16,
    /// Every entry up to it is settled or a dead letter.
    pub entry: EntryId,
    /// The entries that the group had not settled.
    pub unsettled: u64,
    /// The dead letters that it had.
    pub dead_letters: u64,
}

/// What survives a loss of Redis. The methods need the database in which the stream is [registered](crate::stream::StreamBuilder::sql): this
/// program must have opened a stream with it, or have a relay there. For other streams they return nothing.
impl StreamAdmin {
    /// The checkpoints of all groups, by group and partition.
    ///
    /// # Errors
    /// [`StreamError::Database`].
    pub async fn checkpoints(&self) -> Result<Vec<Checkpoint>, StreamError> {
        let Some(table) = self.base.table().await? else { return Ok(Vec::new()) };
        let rows = ask(table.groups(&self.base.topic())).await?;
        let checkpoints = rows.into_iter().map(|row| Checkpoint {
            group: row.group.to_string(),
            partition: row.partition,
            entry: row.checkpoint,
            unsettled: row.unsettled,
            dead_letters: row.dead_letters,
        });
        Ok(checkpoints.collect())
    }

    /// The number of entries of units of work that the database keeps, because a group has not settled them, or has only just.
    ///
    /// # Errors
    /// [`StreamError::Database`].
    pub async fn kept_entries(&self) -> Result<u64, StreamError> {
        let Some(table) = self.base.table().await? else { return Ok(0) };
        ask(table.kept(&self.base.topic())).await
    }

    /// Up to `limit` losses of the stream, newest first, with the numbers of what was sent again and of what may be lost.
    ///
    /// # Errors
    /// [`StreamError::Database`].
    pub async fn losses(&self, limit: usize) -> Result<Vec<Loss>, StreamError> {
        let Some(table) = self.base.table().await? else { return Ok(Vec::new()) };
        ask(table.losses(&self.base.topic(), limit)).await
    }
}
