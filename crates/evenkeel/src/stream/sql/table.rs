//! [`StreamTable`]: the rows of streams in any database.

use crate::sql::SqlError;
use async_trait::async_trait;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::GroupName;
use evenkeel_protocol::stream::steps::Mode;

/// A registered group in one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupRow {
    pub(crate) group: GroupName,
    pub(crate) partition: u16,
    pub(crate) mode: Mode,
    /// Every entry up to it is settled or a dead letter.
    pub(crate) checkpoint: EntryId,
    /// The entries after it, and the pending ones.
    pub(crate) unsettled: u64,
    pub(crate) dead_letters: u64,
}

/// The entries of a key that Redis has received and whose place in the log is not known yet: those up to this sequence.
pub(crate) struct Unplaced {
    pub(crate) key: String,
    pub(crate) until: u64,
}

/// The place of entries of a key.
pub(crate) struct Placed {
    pub(crate) entries: Unplaced,
    pub(crate) partition: u16,
    /// An entry of the log that is not before any of them.
    pub(crate) tail: EntryId,
}

/// A loss of a stream: Redis had lost it, or one of its partitions or groups, and it was created again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The number of the incarnation of the stream that began with it; it is higher for later losses.
    pub incarnation: u64,
    /// When the loss was detected, by the clock of the database, in ms since 1970.
    pub at: u64,
    /// Entries of units of work that were sent again.
    pub sent_again: u64,
    /// Entries that the slowest group of each partition had not settled when checkpoints were last stored. Those of them that were appended
    /// without a unit of work are lost, and so are those appended after that.
    pub unsettled: u64,
    /// Dead letters of all groups when checkpoints were last stored. Redis had the only copy.
    pub dead_letters: u64,
}

/// The rows of the streams in one database.
#[async_trait]
pub(crate) trait StreamTable: Send + Sync {
    /// Which pool this is, within the process.
    fn place(&self) -> usize;

    /// Registers a stream, unless it is registered; returns its number of partitions.
    async fn register(&self, topic: &str, partitions: u16) -> Result<u16, SqlError>;

    /// The incarnation of a stream; `None` if the stream is not registered, 0 if it was never created.
    async fn incarnation(&self, topic: &str) -> Result<Option<u64>, SqlError>;

    /// Begins the incarnation after this one: claims of the stream's keys end, and all kept entries are sent again in the order of their
    /// keys. `None` if another program has begun it.
    async fn begin_again(&self, topic: &str, incarnation: u64) -> Result<Option<Loss>, SqlError>;

    /// All groups of a stream, by name and partition.
    async fn groups(&self, topic: &str) -> Result<Vec<GroupRow>, SqlError>;

    /// Registers a group in all partitions, unless Redis has lost the stream since this incarnation; returns whether it did. Rows that exist
    /// are left unchanged.
    async fn add_group(&self, topic: &str, incarnation: u64, rows: &[GroupRow]) -> Result<bool, SqlError>;

    /// Removes a group; returns whether it was registered.
    async fn remove_group(&self, topic: &str, group: &GroupName) -> Result<bool, SqlError>;

    /// Some keys with entries that Redis has received and that are not placed.
    async fn unplaced(&self, topic: &str, limit: usize) -> Result<Vec<Unplaced>, SqlError>;

    /// Moves checkpoints forward, records places, and deletes the entries that every registered group has settled, unless Redis has lost the
    /// stream since this incarnation; returns whether it did.
    async fn save(&self, topic: &str, incarnation: u64, rows: &[GroupRow], placed: &[Placed])
    -> Result<bool, SqlError>;

    /// The number of entries that are kept.
    async fn kept(&self, topic: &str) -> Result<u64, SqlError>;

    /// The newest losses, newest first.
    async fn losses(&self, topic: &str, limit: usize) -> Result<Vec<Loss>, SqlError>;
}
