//! Appends: what producers send.

use crate::stream::id::EntryId;
use bytes::Bytes;
use evenkeel_link::Token;

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
    /// The encoded [`Record`](crate::stream::entry::Record).
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
