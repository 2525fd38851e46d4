//! The atomic steps of a stream's partition, as a trait; docs/spec/stream.md specifies them. The conformance suite of the test kit
//! runs on every backend.

use super::error::StreamError;
use super::id::EntryId;
use super::name::{GroupName, Partition};
use super::tries::Tries;
use async_trait::async_trait;
use bytes::Bytes;
use evenkeel_link::Token;

/// The maximum number of items of one call.
pub const ITEMS_MAX: usize = 500;
/// The maximum length of an entry's record.
pub const RECORD_BYTES_MAX: usize = 1 << 20;
/// The maximum length of an entry's key.
pub const KEY_BYTES_MAX: usize = 512;
/// The highest sequence of a producer: Lua's numbers are exact up to this.
pub const SEQUENCE_MAX: u64 = (1 << 53) - 1;
/// The first time that means "until resumed": Lua's numbers are exact up to this.
pub(crate) const FOREVER_MS: u64 = (1 << 53) - 1;
/// The longest duration of a lease or delay: a hundred years.
pub const SPAN_MS_MAX: u64 = 100 * 365 * 24 * 3_600_000;

/// The position of an append among those of its producer: the script appends each sequence once, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequenced {
    /// The producer: a process, or a key whose appends a unit of work numbers.
    pub producer: Token,
    /// The number of this append; at least 1.
    pub sequence: u64,
    /// The number of the producer's append before this one; 0 for none.
    pub previous: u64,
}

/// An entry to be appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    /// Entries of one key are handled in order.
    pub key: Bytes,
    /// The encoded [`Record`](super::entry::Record).
    pub record: Bytes,
    /// `None`: the entry is appended whenever the call runs, and a repeated call appends it again.
    pub sequenced: Option<Sequenced>,
}

/// A call that appends entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// In this order.
    pub entries: Vec<NewEntry>,
    /// Entries above this number of entries in the partition are refused; `None`: no limit.
    pub entries_max: Option<u64>,
    /// How long the last sequence of a producer is stored after its last append.
    pub producer_window_ms: u64,
}

/// The reply for one entry of an [`Append`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// It is in the log.
    Appended(EntryId),
    /// An earlier call appended it; the id is known if it was the producer's last append.
    Duplicate(Option<EntryId>),
    /// An earlier append of the producer is missing. Nothing changed.
    OutOfOrder {
        /// The last sequence of the producer in the log.
        last: u64,
    },
    /// The partition has reached `entries_max`. Nothing changed.
    Full,
}

/// How a group's entries are leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Each entry has a lease of its own; any number of consumers reads the partition.
    Entry,
    /// One consumer has a lease of the partition, with a fencing token; it alone reads.
    Partition,
}

/// Where a group begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// With the first entry that the log still has after this id.
    After(EntryId),
    /// With the next entry that is appended.
    End,
}

/// A group that the partition must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSpec {
    /// Its name.
    pub name: GroupName,
    /// Where it begins, if it is created.
    pub position: Position,
    /// How its entries are leased.
    pub mode: Mode,
}

/// The reply for one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// It was created: it is new, or Redis has lost it.
    Created,
    /// It existed.
    Existed,
    /// It exists with the other mode, or another program has created it. Nothing changed.
    Refused,
}

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

/// A consumer of a group, and the tokens with which it proves that it is current.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reader {
    /// One incarnation of a consumer; never used again.
    pub consumer: Token,
    /// The fencing token of its partition lease; 0 in [`Mode::Entry`].
    pub fence: u64,
    /// The epoch of the group when it joined.
    pub epoch: u64,
}

/// The reply to a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// The consumer may read.
    Granted {
        /// With these tokens.
        reader: Reader,
        /// The remaining lease of the partition; 0 in [`Mode::Entry`].
        lease_left_ms: u64,
    },
    /// Another consumer has the lease of the partition.
    Taken {
        /// The time until it expires, unless it is renewed.
        free_in_ms: u64,
    },
}

/// The delivery of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its id.
    pub id: EntryId,
    /// The number of this delivery. Together with the [`Reader`] it is the token of the delivery's lease.
    pub count: u32,
    /// When it is delivered again; `None` if it is delivered now. Only `take_over` returns delayed entries.
    pub due: Option<u64>,
    /// Whether earlier entries of its key are dead letters of a sequence.
    pub is_parked: bool,
    /// The entry from which a dead letter came that was sent back.
    pub origin: Option<EntryId>,
    /// Earlier errors and crashes; `None` if they cannot be read.
    pub tries: Option<Tries>,
    /// Its key.
    pub key: Bytes,
    /// Its record.
    pub record: Bytes,
}

/// The reply to a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadEntries {
    /// Entries to be handled now: first those that are delivered again, then new ones in the order of the log.
    pub entries: Vec<Delivered>,
    /// Pending entries that the log has no more: another program has deleted or trimmed them.
    pub lost: Vec<EntryId>,
    /// The last entry of the log, from which a consumer waits for more.
    pub tail: EntryId,
    /// The time until an entry is delivered again, or a pause ends; `None`: not before something else happens.
    pub next_in_ms: Option<u64>,
    /// Whether the group is paused.
    pub is_paused: bool,
}

/// A page of pending entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenOver {
    /// In the order of the log.
    pub entries: Vec<Delivered>,
    /// Pending entries that the log has no more.
    pub lost: Vec<EntryId>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<EntryId>,
}

/// A delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Delivery {
    /// The entry.
    pub id: EntryId,
    /// The number of the delivery.
    pub count: u32,
}

/// How a delivery ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The entry is handled.
    Done,
    /// It failed and is delivered again after the delay; counts as an error.
    Retry {
        /// From the server's now.
        delay_ms: u64,
        /// The error's text.
        error: Bytes,
    },
    /// It was not handled and is delivered again after the delay; counts as nothing.
    Snooze {
        /// From the server's now; 0 when a consumer stops.
        delay_ms: u64,
    },
    /// It becomes a dead letter of the group.
    Dead {
        /// Why.
        reason: Bytes,
        /// Whether later entries of its key must follow it (`DeadLetterSequence`).
        parks_key: bool,
    },
}

/// The end of one delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// The delivery.
    pub delivery: Delivery,
    /// How it ended.
    pub outcome: Outcome,
}

/// The reply to a [`Settlement`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was recorded.
    Settled,
    /// The outcome of this entry, or of this delivery, is already recorded: by an earlier call of this consumer, or by a later owner.
    AlreadySettled,
    /// The entry has been delivered to another consumer since, or again to this one. Nothing changed.
    Stale,
}

/// One delivery in a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// The delivery.
    pub delivery: Delivery,
    /// Whether it runs alone in its process: if it ends without an outcome, that is its own crash.
    pub alone: bool,
}

/// A dead letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Its id among the dead letters of the group; its time is the time of death.
    pub id: EntryId,
    /// The id of the entry, or of the entry from which it was sent back.
    pub origin: EntryId,
    /// Whether it parks its key.
    pub parks_key: bool,
    /// Its errors and crashes; the last note is the reason. `None` if they cannot be read.
    pub tries: Option<Tries>,
    /// Its key.
    pub key: Bytes,
    /// Its record.
    pub record: Bytes,
}

/// What became of a dead letter that should be sent back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redriven {
    /// It was appended for its group only, with this id, and is no longer a dead letter.
    Appended(EntryId),
    /// There is no such dead letter: this call is a repeat, or it was deleted.
    Unknown,
    /// Its key is parked: the owner of the partition replays its letters in order. Nothing changed.
    Parked,
}

/// A call that trims the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trim {
    /// The registered groups.
    pub groups: Vec<GroupName>,
    /// Entries are kept for at least this long, for replays.
    pub keep_ms: u64,
    /// The maximum number of entries to remove.
    pub limit: usize,
}

/// The reply to a [`Trim`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trimmed {
    /// So many entries were removed.
    Removed {
        /// The number.
        entries: u64,
        /// Whether another call would remove more.
        more: bool,
    },
    /// The partition does not have this registered group. Nothing was removed.
    GroupMissing(GroupName),
    /// There is no such partition.
    Missing,
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub id: EntryId,
    /// The only group that gets it, if a dead letter was sent back.
    pub only: Option<GroupName>,
    /// Its key.
    pub key: Bytes,
    /// Its record.
    pub record: Bytes,
}

/// The state of a group in one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupStats {
    /// The server's time.
    pub now: u64,
    /// The epoch: seeks and recoveries raise it.
    pub epoch: u64,
    /// How entries are leased.
    pub mode: Mode,
    /// Entries in the log.
    pub length: u64,
    /// The last entry of the log.
    pub tail: EntryId,
    /// The last entry that was delivered, or where the group began.
    pub position: EntryId,
    /// The first entry after the position: its time says how late the group is.
    pub unread: Option<EntryId>,
    /// Delivered entries without a final outcome.
    pub pending: u64,
    /// The oldest of them.
    pub oldest_pending: Option<EntryId>,
    /// Pending entries that wait for their next delivery.
    pub delayed: u64,
    /// Dead letters.
    pub dead: u64,
    /// Keys whose later entries become dead letters, too.
    pub parked_keys: u64,
    /// The owner of the partition, its fencing token and its remaining lease.
    pub owner: Option<(Token, u64, u64)>,
    /// Until when the group is paused; `u64::MAX` until it is resumed.
    pub paused_until: Option<u64>,
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
    /// In [`Mode::Partition`] takes over all pending entries, in order; in [`Mode::Entry`] returns those of this consumer, whose delivery
    /// may have been lost with a reply.
    async fn take_over(
        &self,
        partition: &Partition,
        group: &GroupName,
        reader: Reader,
        after: EntryId,
        limit: usize,
    ) -> Result<Reply<TakenOver>>;
    /// Delivers up to `want` entries. `lease_ms` is the lease of each in [`Mode::Entry`].
    async fn read(
        &self,
        partition: &Partition,
        group: &GroupName,
        reader: Reader,
        want: usize,
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
    async fn beat(
        &self,
        partition: &Partition,
        group: &GroupName,
        reader: Reader,
        lease_ms: u64,
        beats: &[Beat],
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
}
