//! The log of a partition: its entries.

use crate::stream::id::EntryId;
use crate::stream::name::GroupName;
use crate::stream::steps::Position;
use bytes::Bytes;
use std::collections::BTreeMap;

/// The entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) entries: BTreeMap<EntryId, LogEntry>,
    pub(crate) last: EntryId,
}

/// One entry.
#[derive(Clone, Debug)]
pub(crate) struct LogEntry {
    pub(crate) key: Bytes,
    pub(crate) record: Bytes,
    /// The group of a dead letter that was sent back, and the entry from which it came.
    pub(crate) sent_back: Option<(GroupName, EntryId)>,
}

/// The id of an append: the server's time, or that of the last entry if the clock was set back.
pub(crate) fn next_id(last: EntryId, now: u64) -> EntryId {
    if now > last.ms { EntryId::at(now) } else { last.next() }
}

impl Log {
    pub(crate) fn add(&mut self, now: u64, entry: LogEntry) -> EntryId {
        self.last = next_id(self.last, now);
        self.entries.insert(self.last, entry);
        self.last
    }

    /// The last entry that is still there.
    pub(crate) fn tail(&self) -> EntryId {
        self.entries.last_key_value().map_or(EntryId::MIN, |(id, _)| *id)
    }

    pub(crate) fn after(&self, id: EntryId) -> impl Iterator<Item = (EntryId, &LogEntry)> {
        self.entries.range(id.next()..).map(|(id, entry)| (*id, entry))
    }

    pub(crate) fn position(&self, position: Position) -> EntryId {
        match position {
            Position::After(id) => id,
            Position::End => self.last,
        }
    }
}
