//! The atomic steps of a stream's partition, as a trait; docs/spec/stream.md specifies them. The conformance suite of the test kit
//! runs on every backend.

mod append;
mod consume;
mod group;
mod operate;

pub use append::{Append, Appended, NewEntry, Sequenced};
pub use consume::{Delivered, Delivery, Heartbeat, Outcome, ReadEntries, Settlement, TakenOver, Verdict};
pub use group::{GroupSpec, Joined, Mode, Opened, Position, Reader};
pub use operate::{DeadLetter, Entry, GroupStats, Redriven, Trim, Trimmed};

use super::error::StreamError;
use super::id::EntryId;
use super::name::{GroupName, Partition};
use async_trait::async_trait;
use evenkeel_link::Token;

/// The maximum number of items of one call.
pub const ITEMS_MAX: usize = 500;
/// The maximum length of an entry's record.
pub const RECORD_BYTES_MAX: usize = 1 << 20;
/// A reply takes no further entry once its keys and records have this many bytes: it has at most these, and those of
/// [`PART_ITEMS`] entries more.
pub const REPLY_BYTES_MAX: usize = 4 << 20;
/// The number of new entries that are read at once, because the size of an entry is known only once it is read.
pub(crate) const PART_ITEMS: usize = 8;
/// The maximum length of an entry's key.
pub const KEY_BYTES_MAX: usize = 512;
/// The highest sequence of a producer: Lua's numbers are exact up to this.
pub const SEQUENCE_MAX: u64 = (1 << 53) - 1;
/// The first time that means "until resumed": Lua's numbers are exact up to this.
pub(crate) const FOREVER_MS: u64 = (1 << 53) - 1;
/// The longest duration of a lease or delay: a hundred years.
pub const SPAN_MS_MAX: u64 = 100 * 365 * 24 * 3_600_000;

/// The reply to a call of a consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply<T> {
    /// The call was executed.
    Done(T),
    /// The partition or the group does not exist: it was never opened, or Redis has lost it. `open` creates it again.
    Missing,
    /// The caller is not, or no longer, the owner of the partition; or the group has a higher epoch. Nothing changed.
    Stale,
    /// The group is leased in the other mode. Nothing changed.
    OtherMode,
    /// The owner of the partition must page through the pending entries before it reads new ones. Nothing changed.
    TakeOverFirst,
}

type Result<T> = std::result::Result<T, StreamError>;

/// The steps of one partition.
#[async_trait]
pub trait StreamSteps: Send + Sync {
    /// Creates the partition and those of the groups that it does not have. New ids are above `last`.
    async fn open(&self, partition: &Partition, groups: &[GroupSpec], last: EntryId) -> Result<Vec<Opened>>;
    /// Appends entries; `None` if the partition does not exist.
    async fn append(&self, partition: &Partition, call: &Append) -> Result<Option<Vec<Appended>>>;
    /// Joins a group; in [`Mode::Partition`] acquires the lease of the partition. New fencing tokens are above `fence_floor`.
    async fn join(
        &self,
        partition: &Partition,
        group: &GroupName,
        consumer: Token,
        lease_ms: u64,
        fence_floor: u64,
    ) -> Result<Reply<Joined>>;
    /// Returns the lease of a partition.
    async fn leave(&self, partition: &Partition, group: &GroupName, reader: Reader) -> Result<Reply<()>>;
    /// Records for `lease_ms` that a consumer is alive, or with 0 that it leaves; returns the consumers of the group that are alive, at most
    /// [`ITEMS_MAX`], in the order of their tokens. Only a hint for the distribution of partitions: leases decide who may read.
    async fn attend(
        &self,
        partition: &Partition,
        group: &GroupName,
        consumer: Token,
        lease_ms: u64,
    ) -> Result<Reply<Vec<Token>>>;
    /// In [`Mode::Partition`] takes over all pending entries, in order; in [`Mode::Entry`] returns those of this consumer, whose delivery
    /// may have been lost with a reply. A page has up to `limit` entries, within the bytes of a reply.
    async fn take_over(
        &self,
        partition: &Partition,
        group: &GroupName,
        reader: Reader,
        after: EntryId,
        limit: usize,
    ) -> Result<Reply<TakenOver>>;
    /// Delivers up to `limit` entries, within the bytes of a reply. `lease_ms` is the lease of each in [`Mode::Entry`].
    async fn read(
        &self,
        partition: &Partition,
        group: &GroupName,
        reader: Reader,
        limit: usize,
        lease_ms: u64,
    ) -> Result<Reply<ReadEntries>>;
    /// Records how deliveries ended.
    async fn settle(
        &self,
        partition: &Partition,
        group: &GroupName,
        reader: Reader,
        settlements: &[Settlement],
    ) -> Result<Reply<Vec<Verdict>>>;
    /// Extends the lease of the partition, or the leases of these deliveries; returns which of them are current.
    async fn heartbeat(
        &self,
        partition: &Partition,
        group: &GroupName,
        reader: Reader,
        lease_ms: u64,
        heartbeats: &[Heartbeat],
    ) -> Result<Reply<Vec<bool>>>;
    /// Sends dead letters back to their group, as new entries that no other group gets. `None`: there is no such partition.
    async fn redrive(
        &self,
        partition: &Partition,
        group: &GroupName,
        letters: &[EntryId],
    ) -> Result<Option<Vec<Redriven>>>;
    /// Deletes dead letters; a key is no longer parked when its last one is deleted. With a reader only while it is current: the owner of
    /// the partition has replayed them.
    async fn discard(
        &self,
        partition: &Partition,
        group: &GroupName,
        reader: Option<Reader>,
        letters: &[EntryId],
    ) -> Result<Reply<Vec<bool>>>;
    /// Moves a group. Its pending entries are dropped and its epoch rises.
    async fn seek(&self, partition: &Partition, group: &GroupName, to: Position) -> Result<Reply<()>>;
    /// Delivers nothing until this time, or until resumed. A time that has passed resumes the group.
    async fn pause(&self, partition: &Partition, group: &GroupName, until: Option<u64>) -> Result<Reply<()>>;
    /// Removes entries that every group has settled.
    async fn trim(&self, partition: &Partition, trim: &Trim) -> Result<Trimmed>;
    /// Removes up to 100 consumers that have been silent for this long and have no pending entry; returns their number.
    async fn sweep(&self, partition: &Partition, group: &GroupName, silent_ms: u64) -> Result<Reply<u64>>;
    /// The state of a group.
    async fn stats(&self, partition: &Partition, group: &GroupName) -> Result<Reply<GroupStats>>;
    /// A page of the log.
    async fn entries(&self, partition: &Partition, after: EntryId, limit: usize) -> Result<Vec<Entry>>;
    /// A page of the dead letters.
    async fn dead(
        &self,
        partition: &Partition,
        group: &GroupName,
        after: EntryId,
        limit: usize,
    ) -> Result<Vec<DeadLetter>>;
    /// Waits until the log has an entry after this one. Forever, if the store is not in this process.
    async fn grown(&self, _partition: &Partition, _after: EntryId) {
        std::future::pending::<()>().await;
    }
}
