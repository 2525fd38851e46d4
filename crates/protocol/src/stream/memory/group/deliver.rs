//! Which entries a consumer gets.

use super::{Group, Name, Pending};
use crate::stream::id::EntryId;
use crate::stream::memory::log::{Log, LogEntry};
use crate::stream::steps::{Delivered, Mode, ReadEntries, Reply, TakenOver};
use crate::stream::tries::NoteKind;
use bytes::Bytes;

impl Group {
    pub(in crate::stream::memory) fn take_over(
        &mut self,
        now: u64,
        log: &Log,
        me: &Name,
        after: EntryId,
        limit: usize,
    ) -> TakenOver {
        let by_partition = self.mode == Mode::Partition;
        let held = self.pending.range(after.next()..).filter(|(_, held)| by_partition || held.owner == *me);
        let page: Vec<(EntryId, bool)> = held.take(limit).map(|(id, held)| (*id, held.owner == *me)).collect();
        let next = (page.len() == limit).then(|| page.last().map(|(id, _)| *id)).flatten();
        let mut taken = TakenOver { entries: Vec::new(), lost: Vec::new(), next };
        for (id, is_mine) in page {
            let due = self.due.get(&id);
            let Some(entry) = log.entries.get(&id) else {
                self.finish(id);
                taken.lost.push(id);
                continue;
            };
            let is_new = !is_mine && due.is_none();
            if is_new {
                taken.entries.push(self.deliver_again(now, id, me, entry, true));
            } else {
                let count = self.pending.get_mut(&id).map_or(0, |held| {
                    held.owner.clone_from(me);
                    held.count
                });
                taken.entries.push(self.deliver(now, id, count, entry, due, false));
            }
        }
        let lease_now = self.lease_clock(now);
        self.consumers.set(me, lease_now);
        if next.is_none() && by_partition {
            self.taken = self.fence;
        }
        taken
    }

    pub(in crate::stream::memory) fn read(
        &mut self,
        now: u64,
        log: &Log,
        me: &Name,
        limit: usize,
        lease_ms: u64,
    ) -> Reply<ReadEntries> {
        if self.mode == Mode::Partition && self.taken != self.fence {
            return Reply::TakeOverFirst;
        }
        let lease_now = self.lease_clock(now);
        self.consumers.set(me, lease_now);
        let is_paused = self.paused > now;
        let mut read =
            ReadEntries { entries: Vec::new(), lost: Vec::new(), tail: log.tail(), next_in_ms: None, is_paused };
        if is_paused {
            read.next_in_ms = (self.paused < u64::MAX).then(|| self.paused - now);
            return Reply::Done(read);
        }
        let ends = (self.mode == Mode::Entry).then_some(lease_now + lease_ms);
        self.redeliver(now, lease_now, log, me, limit.div_ceil(2), ends, &mut read);
        let skipped = self.read_new(now, log, me, limit - read.entries.len(), ends, &mut read);
        self.redeliver(now, lease_now, log, me, limit - read.entries.len(), ends, &mut read);
        let due = self.due.first_time().map(|due| due.saturating_sub(now));
        let ends = self.leased.first_time().map(|ends| ends.saturating_sub(lease_now));
        read.next_in_ms = if skipped { Some(0) } else { due.into_iter().chain(ends).min() };
        Reply::Done(read)
    }

    /// Entries that are due again, then entries whose lease has expired.
    #[expect(clippy::too_many_arguments, reason = "the two clocks, and what a read is about")]
    fn redeliver(
        &mut self,
        now: u64,
        lease_now: u64,
        log: &Log,
        me: &Name,
        limit: usize,
        ends: Option<u64>,
        read: &mut ReadEntries,
    ) {
        let room = read.entries.len() + limit;
        for lease_expired in [false, true] {
            let limit = room - read.entries.len();
            let ids = if lease_expired { self.leased.until(lease_now, limit) } else { self.due.until(now, limit) };
            for id in ids {
                let Some(entry) = log.entries.get(&id) else {
                    self.finish(id);
                    read.lost.push(id);
                    continue;
                };
                read.entries.push(self.deliver_again(now, id, me, entry, lease_expired));
                if let Some(ends) = ends {
                    self.leased.set(&id, ends);
                }
            }
        }
    }

    /// Entries that no consumer has got; returns whether some were skipped, because they were sent back to other groups.
    fn read_new(
        &mut self,
        now: u64,
        log: &Log,
        me: &Name,
        limit: usize,
        ends: Option<u64>,
        read: &mut ReadEntries,
    ) -> bool {
        let mut skipped = false;
        for (id, entry) in log.after(self.position).take(limit) {
            self.position = id;
            if entry.sent_back.as_ref().is_some_and(|(group, _)| *group != self.name) {
                skipped = true;
                continue;
            }
            self.pending.insert(id, Pending { owner: me.clone(), count: 1 });
            read.entries.push(self.deliver(now, id, 1, entry, None, false));
            if let Some(ends) = ends {
                self.leased.set(&id, ends);
            }
        }
        skipped
    }

    fn deliver_again(&mut self, now: u64, id: EntryId, me: &Name, entry: &LogEntry, lease_expired: bool) -> Delivered {
        self.due.remove(&id);
        let count = self.pending.get_mut(&id).map_or(0, |held| {
            held.owner.clone_from(me);
            held.count += 1;
            held.count
        });
        self.deliver(now, id, count, entry, None, lease_expired)
    }

    /// If `lease_expired`, the previous delivery ended without an outcome.
    fn deliver(
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
