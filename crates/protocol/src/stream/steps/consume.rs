//! Deliveries and how they end.

use crate::stream::id::EntryId;
use crate::stream::tries::Tries;
use bytes::Bytes;

/// The delivery of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its id.
    pub id: EntryId,
    /// The number of this delivery. Together with the [`Reader`](super::Reader) it is the token of the delivery's lease.
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
    /// The time until another read returns something: until an entry is delivered again, or a pause ends; 0 if entries that were sent back
    /// to other groups were skipped, or the reply was full before `limit`. `None`: not before something else happens.
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

impl Delivered {
    /// The bytes of its key and its record.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.key.len() + self.record.len()
    }
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
pub struct Heartbeat {
    /// The delivery.
    pub delivery: Delivery,
    /// Whether it runs alone in its process: if it ends without an outcome, that is its own crash. A later heartbeat with `false` takes
    /// this back.
    pub alone: bool,
}
