//! What operators read and change.

use super::group::Mode;
use crate::stream::id::EntryId;
use crate::stream::name::GroupName;
use crate::stream::tries::Tries;
use bytes::Bytes;
use evenkeel_link::Token;

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

/// What became of a dead letter that was to be handled again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redriven {
    /// It is in the log again, for its group only, with this id, and is no longer a dead letter.
    Appended(EntryId),
    /// There is no such dead letter: an earlier call has replayed or removed it.
    Unknown,
    /// Its key is parked (`OnFailure::DeadLetterSequence`): at the end of the log it would be overtaken by later entries of its key. Nothing
    /// changed; remove it once its work was done by other means.
    Parked,
}

/// A call that trims the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trim {
    /// The registered groups.
    pub groups: Vec<GroupName>,
    /// Entries are kept for at least this long, for replays.
    pub retain_ms: u64,
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
    /// Entries after the position, also those that were sent back to other groups. `None` where the server does not know their number: after
    /// a seek into the middle of the log, until the group has read its end.
    pub unread_entries: Option<u64>,
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
    /// The time since the last call of a consumer, in ms; 0 while an entry is leased. `None`: no consumer is known.
    pub silent_ms: Option<u64>,
}
