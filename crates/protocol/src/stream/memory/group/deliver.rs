//! Which entries a consumer gets.

use super::{Group, Name, Pending};
use crate::stream::id::EntryId;
use crate::stream::memory::log::{Log, LogEntry};
use crate::stream::steps::{Delivered, Mode, PART_ITEMS, REPLY_BYTES_MAX, ReadEntries, Reply, TakenOver};
use crate::stream::tries::NoteKind;
use bytes::Bytes;

/// A read in progress: the two clocks, what is read and by whom, and the reply.
struct Taking<'a> {
    now: u64,
    lease_now: u64,
    log: &'a Log,
    me: &'a Name,
    /// When the leases end, where entries are leased.
    ends: Option<u64>,
    read: ReadEntries,
    /// Of the keys and records of the reply.
    bytes: usize,
}

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
        let mut taken = TakenOver { entries: Vec::new(), lost: Vec::new(), next: None };
        let (seen, mut last, mut bytes) = (page.len(), None, 0);
        for (id, is_mine) in page {
            if bytes >= REPLY_BYTES_MAX {
                break;
            }
            last = Some(id);
            let due = self.due.get(&id);
            let Some(entry) = log.entries.get(&id) else {
                self.finish(id);
                taken.lost.push(id);
                continue;
            };
            let is_new = !is_mine && due.is_none();
            let delivered = if is_new {
                self.deliver_again(now, id, me, entry, true)
            } else {
                let count = self.pending.get_mut(&id).map_or(0, |held| {
                    held.owner.clone_from(me);
                    held.count
                });
                self.deliver(now, id, count, entry, due, false)
            };
            bytes += delivered.bytes();
            taken.entries.push(delivered);
        }
        taken.next = last.filter(|_| seen == limit || bytes >= REPLY_BYTES_MAX);
        let lease_now = self.lease_clock(now);
        self.consumers.set(me, lease_now);
        if taken.next.is_none() && by_partition {
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
        let read = ReadEntries { entries: Vec::new(), lost: Vec::new(), tail: log.tail(), next_in_ms: None, is_paused };
        let ends = (self.mode == Mode::Entry).then_some(lease_now + lease_ms);
        let mut taking = Taking { now, lease_now, log, me, ends, read, bytes: 0 };
        if is_paused {
            taking.read.next_in_ms = (self.paused < u64::MAX).then(|| self.paused - now);
            return Reply::Done(taking.read);
        }
        self.redeliver(&mut taking, limit.div_ceil(2), REPLY_BYTES_MAX / 2);
        let left = limit - taking.read.entries.len();
        let has_more = self.read_new(&mut taking, left);
        let left = limit - taking.read.entries.len();
        self.redeliver(&mut taking, left, REPLY_BYTES_MAX);
        let due = self.due.first_time().map(|due| due.saturating_sub(now));
        let ends = self.leased.first_time().map(|ends| ends.saturating_sub(lease_now));
        taking.read.next_in_ms = if has_more { Some(0) } else { due.into_iter().chain(ends).min() };
        Reply::Done(taking.read)
    }

    /// Entries that are due again, then entries whose lease has expired.
    fn redeliver(&mut self, taking: &mut Taking<'_>, limit: usize, bytes_max: usize) {
        let (log, room) = (taking.log, taking.read.entries.len() + limit);
        for lease_expired in [false, true] {
            let limit = room - taking.read.entries.len();
            let ids = match lease_expired {
                true => self.leased.until(taking.lease_now, limit),
                false => self.due.until(taking.now, limit),
            };
            for id in ids {
                if taking.bytes >= bytes_max {
                    break;
                }
                let Some(entry) = log.entries.get(&id) else {
                    self.finish(id);
                    taking.read.lost.push(id);
                    continue;
                };
                let delivered = self.deliver_again(taking.now, id, taking.me, entry, lease_expired);
                self.lease(taking, delivered);
            }
        }
    }

    /// Entries that no consumer has got, in parts; returns whether more may follow: some were skipped, because they were sent back to other
    /// groups, or the reply is full.
    fn read_new(&mut self, taking: &mut Taking<'_>, limit: usize) -> bool {
        let log = taking.log;
        let (mut skipped, mut left) = (false, limit);
        while left > 0 {
            if taking.bytes >= REPLY_BYTES_MAX {
                return true;
            }
            let part: Vec<(EntryId, &LogEntry)> = log.after(self.position).take(left.min(PART_ITEMS)).collect();
            let is_last = part.len() < left.min(PART_ITEMS);
            left -= part.len();
            for (id, entry) in part {
                self.position = id;
                if entry.sent_back.as_ref().is_some_and(|(group, _)| *group != self.name) {
                    skipped = true;
                    continue;
                }
                self.pending.insert(id, Pending { owner: taking.me.clone(), count: 1 });
                let delivered = self.deliver(taking.now, id, 1, entry, None, false);
                self.lease(taking, delivered);
            }
            if is_last {
                break;
            }
        }
        skipped
    }

    /// Adds a delivery to the reply, leased where entries are.
    fn lease(&mut self, taking: &mut Taking<'_>, delivered: Delivered) {
        if let Some(ends) = taking.ends {
            self.leased.set(&delivered.id, ends);
        }
        taking.bytes += delivered.bytes();
        taking.read.entries.push(delivered);
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
