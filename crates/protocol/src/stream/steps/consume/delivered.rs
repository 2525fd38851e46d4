//! [`Delivered`] and [`Delivery`]: an entry that a consumer has.

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
