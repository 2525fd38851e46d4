//! Deliveries of entries that were delivered before, and of new ones.

use super::group::{Group, Name};
use super::log::LogEntry;
use crate::stream::id::EntryId;
use crate::stream::steps::Delivered;
use crate::stream::tries::NoteKind;
use bytes::Bytes;

impl Group {
    pub(crate) fn deliver_again(
        &mut self,
        now: u64,
        id: EntryId,
        me: &Name,
        entry: &LogEntry,
        lease_expired: bool,
    ) -> Delivered {
        self.due.remove(&id);
        let count = self.pending.get_mut(&id).map_or(0, |held| {
            held.owner.clone_from(me);
            held.count += 1;
            held.count
        });
        self.deliver(now, id, count, entry, None, lease_expired)
    }

    /// If `lease_expired`, the previous delivery ended without an outcome.
    pub(crate) fn deliver(
        &mut self,
        now: u64,
        id: EntryId,
        count: u32,
        entry: &LogEntry,
        due: Option<u64>,
        lease_expired: bool,
    ) -> Delivered {
        if let Some(tries) = self.tries.get_mut(&id)
            && lease_expired
            && tries.alone_at == count - 1
        {
            tries.crashes = tries.crashes.saturating_add(1);
            tries.note(now, NoteKind::Crashed, &Bytes::new());
        }
        Delivered {
            id,
            count,
            due,
            is_parked: self.parked.contains_key(&entry.key),
            origin: entry.sent_back.as_ref().map(|(_, origin)| *origin),
            tries: Some(self.tries.get(&id).cloned().unwrap_or_default()),
            key: entry.key.clone(),
            record: entry.record.clone(),
        }
    }
}
