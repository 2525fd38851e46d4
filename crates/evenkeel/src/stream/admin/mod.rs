//! [`StreamAdmin`]: the operator's handle on a stream, independent of the type of its entries.

mod append;
#[cfg(feature = "sql")]
mod checkpoints;
mod dead;
mod seek;
mod select;

#[cfg(feature = "sql")]
pub use crate::stream::sql::Loss;
#[cfg(feature = "sql")]
pub use checkpoints::Checkpoint;
pub use dead::{DeadLetters, Replayed};
pub use evenkeel_protocol::rejection::{Listing, Rejection};
pub use evenkeel_protocol::stream::steps::{DeadLetter, GroupStats, Mode};
pub use evenkeel_protocol::stream::tries::{Note, NoteKind, Tries};
pub use seek::{SeekPreview, SeekTo};
pub use select::{LetterFilter, LetterId, LetterPage};

use super::base::Base;
use super::consume::trim;
use super::store::streams::Streams;
use evenkeel_link::clock::UnixMs;
use evenkeel_link::support::{Tried, guard, ms};
use evenkeel_protocol::past::in_seconds;
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::{GroupName, Partition};
use evenkeel_protocol::stream::steps::{self, Pause, ReadLog, ReadStats, Reply, SEQUENCE_MAX};
use std::sync::Arc;
use std::time::Duration;

/// The operator's handle on a stream; cheap to clone.
#[derive(Clone)]
pub struct StreamAdmin {
    base: Arc<Base>,
}

/// The state of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupState {
    /// Its name.
    pub name: String,
    /// How its entries are leased.
    pub mode: Mode,
    /// Its state in each partition, in the order of the partitions; `None` where Redis has lost the group, and where it rejects the call
    /// (`rejected`).
    pub partitions: Vec<Option<GroupStats>>,
    /// The partitions whose calls Redis rejects: all of them, if no group can have the registered name.
    pub rejected: Vec<Rejection<StreamError>>,
}

/// Keeps the answer of a partition or its rejection; other errors, as that of a server that is unavailable, end the call.
fn kept<T>(
    rejected: &mut Vec<Rejection<StreamError>>,
    partition: u16,
    answer: Result<T, StreamError>,
) -> Result<Option<T>, StreamError> {
    match answer {
        Err(error) if !error.is_retryable() => rejected.push(rejection(partition, error)),
        answer => return answer.map(Some),
    }
    Ok(None)
}

fn rejection(partition: u16, error: StreamError) -> Rejection<StreamError> {
    Rejection { part: format!("partition {partition}"), error }
}

impl GroupState {
    /// Delivered entries without a final outcome.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.stats().map(|stats| stats.pending).sum()
    }

    /// Dead letters.
    #[must_use]
    pub fn dead(&self) -> u64 {
        self.stats().map(|stats| stats.dead).sum()
    }

    /// The age of the oldest entry that no consumer of the group has read.
    #[must_use]
    pub fn lag(&self) -> Option<Duration> {
        let ages = self.stats().filter_map(|stats| Some(stats.now.saturating_sub(stats.unread?.ms)));
        ages.max().map(Duration::from_millis)
    }

    /// Entries that no consumer of the group has read, also those that were sent back to other groups. `None` if the server does not know their
    /// number in some partition: after a seek into the middle of the log, until the group has read its end.
    #[must_use]
    pub fn lag_entries(&self) -> Option<u64> {
        self.stats().map(|stats| stats.unread_entries).sum()
    }

    /// The age of the oldest entry that was read and is not settled.
    #[must_use]
    pub fn oldest_pending(&self) -> Option<Duration> {
        let ages = self.stats().filter_map(|stats| Some(stats.now.saturating_sub(stats.oldest_pending?.ms)));
        ages.max().map(Duration::from_millis)
    }

    /// Whether the group is paused in a partition.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.stats().any(|stats| stats.paused_until.is_some())
    }

    /// Whether Redis has lost the group in a partition. A consumer of the group creates it again.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.partitions.iter().filter(|stats| stats.is_none()).count() > self.rejected.len()
    }

    fn stats(&self) -> impl Iterator<Item = &GroupStats> {
        self.partitions.iter().flatten()
    }
}

/// An entry of the log, as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peeked {
    /// Its id.
    pub id: EntryId,
    /// Its key.
    pub key: bytes::Bytes,
    /// The only group that gets it, if a dead letter was sent back.
    pub only: Option<String>,
    /// Its encoded value; `None` if the record cannot be decoded.
    pub value: Option<bytes::Bytes>,
}

impl StreamAdmin {
    pub(crate) fn of(base: &Arc<Base>) -> Self {
        Self { base: Arc::clone(base) }
    }

    pub(crate) async fn open(streams: &Arc<Streams>, name: &str) -> Result<Self, StreamError> {
        match streams.store.register().get(name).await? {
            Some(record) => Ok(Self { base: Arc::new(Base::new(streams, name, record)?) }),
            None => Err(StreamError::Unknown { stream: name.to_owned() }),
        }
    }

    pub(crate) async fn all(streams: &Arc<Streams>) -> Result<Listing<Self, StreamError>, StreamError> {
        let registered = streams.store.register().all().await?;
        let mut all = Listing { found: Vec::new(), rejected: registered.rejected };
        for (name, record) in registered.found {
            let stream = Base::new(streams, &name, record).map(|base| Self { base: Arc::new(base) });
            all.note(name, stream, StreamError::is_retryable)?;
        }
        Ok(all)
    }

    /// The name of the stream.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.base.name
    }

    /// The number of its partitions.
    #[must_use]
    pub fn partitions(&self) -> u16 {
        self.base.record.partitions
    }

    /// The state of each group, by name. A partition that Redis rejects stops no other, see [`GroupState::rejected`].
    ///
    /// # Errors
    /// [`StreamError::Link`]: Redis is unavailable, or rejects the register of groups; [`StreamError::Database`] if this program knows a
    /// database in which the stream may be registered.
    pub async fn groups(&self) -> Result<Vec<GroupState>, StreamError> {
        let registered = self.base.groups().await?;
        let mut groups = Vec::new();
        for Rejection { part, error } in registered.rejected {
            let rejected = (0..self.partitions()).map(|partition| rejection(partition, error.clone())).collect();
            let partitions = vec![None; self.base.partitions.len()];
            groups.push(GroupState { name: part, mode: Mode::Entry, partitions, rejected });
        }
        for (name, mode) in registered.found {
            let (mut partitions, mut rejected) = (Vec::new(), Vec::new());
            for (number, partition) in (0..).zip(&self.base.partitions) {
                let stats = self.base.store.run(partition, &ReadStats { group: name.clone() }).await;
                partitions.push(match kept(&mut rejected, number, stats)? {
                    Some(Reply::Done(stats)) => Some(stats),
                    _ => None,
                });
            }
            groups.push(GroupState { name: name.to_string(), mode, partitions, rejected });
        }
        Ok(groups)
    }

    /// A page of up to 500 entries of a partition, after this one.
    ///
    /// # Errors
    /// [`StreamError::Invalid`]: there is no such partition, the limit is 0, or no entry can have this id; [`StreamError::TooMany`];
    /// [`StreamError::Link`].
    pub async fn peek(&self, partition: u16, after: EntryId, limit: usize) -> Result<Vec<Peeked>, StreamError> {
        let page = ReadLog { after: possible(after)?, limit };
        let entries = self.base.store.run(self.partition(partition)?, &page).await?;
        let peeked = |entry: steps::Entry| Peeked {
            id: entry.id,
            key: entry.key,
            only: entry.only.map(|group| group.to_string()),
            value: evenkeel_protocol::stream::entry::Record::decode(&entry.record).ok().map(|record| record.body),
        };
        Ok(entries.into_iter().map(peeked).collect())
    }

    /// Stops a group without stopping its processes: until this time, or with `None` until it is resumed, nothing is delivered to it.
    /// Handlers that run end as usual.
    ///
    /// # Errors
    /// [`StreamError::UnknownGroup`]; [`StreamError::Invalid`]: a time in seconds; [`StreamError::Link`]. [`StreamError::Partly`]: the group is paused in some partitions only.
    /// Repeating the call is idempotent.
    pub async fn pause(&self, group: &str, until: Option<UnixMs>) -> Result<(), StreamError> {
        let group = GroupName::new(group)?;
        if let Some(reason) = until.and_then(|until| in_seconds(until.0)) {
            return Err(StreamError::Invalid(reason));
        }
        let pause = Pause { group: group.clone(), until: until.map(|until| until.0) };
        let mut each = Each::of("partitions", self.base.partitions.len());
        for partition in &self.base.partitions {
            let paused = self.base.store.run(partition, &pause).await;
            each.note(paused.and_then(|paused| self.found(&group, paused)), |()| 1)?;
        }
        each.finish()
    }

    /// Ends a pause.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    pub async fn resume(&self, group: &str) -> Result<(), StreamError> {
        self.pause(group, Some(UnixMs(0))).await
    }

    /// Removes entries that all groups have settled and that are older than `retention`; returns their number. Consumers do this from time to
    /// time themselves. Nothing is removed from a partition in which a registered group is missing.
    ///
    /// **Not guaranteed.** That someone has read what is removed: in a stream without groups every entry older than `retention` is removed, with
    /// `Duration::ZERO` all of them. A group that is created later begins without them.
    ///
    /// # Errors
    /// [`StreamError::Invalid`] for a time above a hundred years; [`StreamError::Link`]; [`StreamError::Database`]; repeating the call is
    /// idempotent.
    pub async fn trim(&self, retention: Duration) -> Result<u64, StreamError> {
        trim(&self.base, ms(retention)).await
    }

    /// Removes a group from the register: it no longer keeps entries from being trimmed once it is gone from Redis, too. For a group that has
    /// no consumers any more. Returns whether it was registered.
    ///
    /// # Errors
    /// [`StreamError::Link`]; [`StreamError::Database`], also if the stream is registered in a database that this program does not know: nothing
    /// was changed. Repeating the call is idempotent.
    pub async fn unregister(&self, group: &str) -> Result<bool, StreamError> {
        let group = GroupName::new(group)?;
        self.expect_database().await?;
        let was_registered = self.base.store.register().remove_group(&self.base.name, &group).await?;
        #[cfg(feature = "sql")]
        if let Some(table) = self.base.table().await? {
            let was_stored = crate::stream::sql::ask(table.remove_group(&self.base.topic(), &group)).await?;
            return Ok(was_registered || was_stored);
        }
        Ok(was_registered)
    }

    /// The dead letters of a group.
    ///
    /// # Errors
    /// [`StreamError::Invalid`]: the name.
    pub fn dead(&self, group: &str) -> Result<DeadLetters, StreamError> {
        Ok(DeadLetters { admin: self.clone(), group: GroupName::new(group)? })
    }

    /// A group that only the register in Redis forgets comes back from the database.
    async fn expect_database(&self) -> Result<(), StreamError> {
        #[cfg(feature = "sql")]
        if self.base.table().await?.is_some() {
            return Ok(());
        }
        if self.base.record.incarnation.is_some() && guard("stream_unregister_in_its_database") {
            return Err(StreamError::Database {
                reason: "it has the group, too, and this program does not know it: call `StreamAdmin::unregister` in a program that opens the \
                         stream with `sql`"
                    .to_owned(),
                is_retryable: false,
            });
        }
        Ok(())
    }

    fn partition(&self, number: u16) -> Result<&Partition, StreamError> {
        self.base.partitions.get(usize::from(number)).ok_or_else(|| {
            let count = self.base.record.partitions;
            StreamError::Invalid(format!("the stream has no partition {number}; it has {count}, counted from 0"))
        })
    }

    fn found<R>(&self, group: &GroupName, reply: Reply<R>) -> Result<R, StreamError> {
        match reply {
            Reply::Done(done) => Ok(done),
            _ => Err(StreamError::UnknownGroup { stream: self.base.name.to_string(), group: group.to_string() }),
        }
    }
}

/// An action on several partitions or dead letters: one that is rejected stops no other.
struct Each {
    what: &'static str,
    all: usize,
    done: usize,
    tried: Tried<StreamError>,
}

impl Each {
    fn of(what: &'static str, all: usize) -> Self {
        Self { what, all, done: 0, tried: Tried::unless(StreamError::is_retryable) }
    }

    /// The result of a call, of which `count` tells how many it changed; `None` if it was rejected.
    fn note<T>(
        &mut self,
        answer: Result<T, StreamError>,
        count: impl FnOnce(&T) -> usize,
    ) -> Result<Option<T>, StreamError> {
        let done = self.tried.note(answer).map_err(|error| partly(self.done, self.all, self.what, error))?;
        self.done += done.as_ref().map_or(0, count);
        Ok(done)
    }

    fn finish(self) -> Result<(), StreamError> {
        self.tried.finish().map_err(|error| partly(self.done, self.all, self.what, error))
    }
}

/// The error of an action of which a part is done.
fn partly(done: usize, all: usize, what: &'static str, error: StreamError) -> StreamError {
    if done == 0 || !guard("stream_partly_reported") {
        return error;
    }
    StreamError::Partly { done, all, what, error: Box::new(error) }
}

/// An id that an entry can have. Time and number are at most 2^53 - 1, as in the scripts; Redis rejects the id after the largest one.
fn possible(id: EntryId) -> Result<EntryId, StreamError> {
    if id.ms <= SEQUENCE_MAX && id.sequence <= SEQUENCE_MAX {
        return Ok(id);
    }
    Err(StreamError::Invalid(format!("no entry can have the id {id}: its numbers are at most 2^53 - 1")))
}
