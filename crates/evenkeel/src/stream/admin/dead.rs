//! [`DeadLetters`]: lists, replays and removes the dead letters of a group.

use super::{DeadLetter, StreamAdmin, possible};
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::entry::Record;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::GroupName;
use evenkeel_protocol::stream::steps::{Discard, ReadDead, Redrive};

pub use evenkeel_protocol::stream::steps::Redriven as Replayed;

/// The dead letters of a group; see [`StreamAdmin::dead`].
#[derive(Clone)]
pub struct DeadLetters {
    pub(super) admin: StreamAdmin,
    pub(super) group: GroupName,
}

impl DeadLetters {
    /// A page of up to 500 dead letters of a partition, after this one, oldest first.
    ///
    /// # Errors
    /// [`StreamError::Invalid`]: there is no such partition, the limit is 0, or no dead letter can have this id; [`StreamError::TooMany`];
    /// [`StreamError::Link`].
    pub async fn list(&self, partition: u16, after: EntryId, limit: usize) -> Result<Vec<DeadLetter>, StreamError> {
        let base = &self.admin.base;
        let page = ReadDead { group: self.group.clone(), after: possible(after)?, limit };
        base.store.run(self.admin.partition(partition)?, &page).await
    }

    /// The encoded value of a dead letter; `None` if its record cannot be decoded.
    #[must_use]
    pub fn value_of(letter: &DeadLetter) -> Option<bytes::Bytes> {
        Record::decode(&letter.record).ok().map(|record| record.body)
    }

    /// Sends dead letters back to their group, as new entries that no other group gets, without their earlier errors. At most 500.
    ///
    /// # Errors
    /// [`StreamError::Invalid`]: there is no such partition; [`StreamError::TooMany`]; [`StreamError::UnknownGroup`]: Redis has lost the
    /// partition; [`StreamError::Link`]: some may have been sent back; a repeated call does not send them back twice.
    pub async fn replay(&self, partition: u16, letters: &[EntryId]) -> Result<Vec<Replayed>, StreamError> {
        let base = &self.admin.base;
        let redrive = Redrive { group: self.group.clone(), letters: letters.to_vec() };
        let replies = base.store.run(self.admin.partition(partition)?, &redrive).await?;
        replies
            .ok_or_else(|| StreamError::UnknownGroup { stream: base.name.to_string(), group: self.group.to_string() })
    }

    /// Removes dead letters for good; returns for each whether it existed. A parked key is free again with its last one. At most 500.
    ///
    /// # Errors
    /// [`StreamError::Invalid`]: there is no such partition; [`StreamError::TooMany`]; [`StreamError::Link`]; repeating the call is
    /// idempotent.
    pub async fn remove(&self, partition: u16, letters: &[EntryId]) -> Result<Vec<bool>, StreamError> {
        let base = &self.admin.base;
        let discard = Discard { group: self.group.clone(), reader: None, letters: letters.to_vec() };
        let reply = base.store.run(self.admin.partition(partition)?, &discard).await?;
        self.admin.found(&self.group, reply)
    }
}
