//! A group of one partition: who may read, what is pending, and what died.

use super::index::Index;
use super::log::{Log, LogEntry, next_id};
use crate::stream::id::EntryId;
use crate::stream::name::GroupName;
use crate::stream::steps::{
    Beat, DeadLetter, Delivered, Delivery, FOREVER_MS, GroupStats, Joined, Mode, Outcome, ReadEntries, Reader, Reply,
    Settlement, TakenOver, Verdict,
};
use crate::stream::tries::{NoteKind, Tries};
use bytes::Bytes;
use evenkeel_link::Token;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The maximum number of consumers that one sweep removes.
const SWEEP_MAX: usize = 100;

/// The state of a group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    name: GroupName,
    pub(super) mode: Mode,
    epoch: u64,
    /// The owner of the partition, and until when on the lease clock.
    owner: Option<(Token, u64)>,
    /// The last fencing token.
    fence: u64,
    /// The fencing token under which the pending entries were taken over.
    taken: u64,
    /// Until when it is paused.
    paused: u64,
    /// The server time that the last step with leases saw, and the sum of its backward jumps.
    seen: Option<u64>,
    back: u64,
    pub(super) position: EntryId,
    pub(super) pending: BTreeMap<EntryId, Pending>,
    /// When delayed entries are due.
    due: Index<EntryId>,
    /// When the leases of running entries end, on the lease clock.
    leased: Index<EntryId>,
    tries: BTreeMap<EntryId, Tries>,
    /// The last call of each consumer, on the lease clock.
    consumers: Index<Name>,
    pub(super) dead: BTreeMap<EntryId, DeadLetter>,
    dead_last: EntryId,
    /// The dead letters of each parked key.
    pub(super) parked: BTreeMap<Bytes, i64>,
}

/// A delivered entry without a final outcome.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// The name of the consumer that has it.
    owner: Name,
    count: u32,
}

/// The name of a consumer in Redis.
pub(super) type Name = Arc<str>;

/// Each lease of a partition has a name of its own.
fn name_of(reader: Reader) -> Name {
    match reader.fence {
        0 => format!("{:?}", reader.consumer).into(),
        fence => format!("{:?}-{fence}", reader.consumer).into(),
    }
}

impl Group {
    pub(super) fn new(name: GroupName, mode: Mode, epoch: u64, position: EntryId) -> Self {
        Self {
            name,
            mode,
            epoch,
            owner: None,
            fence: 0,
            taken: 0,
            paused: 0,
            seen: None,
            back: 0,
            position,
            pending: BTreeMap::new(),
            due: Index::default(),
            leased: Index::default(),
            tries: BTreeMap::new(),
            consumers: Index::default(),
            dead: BTreeMap::new(),
            dead_last: EntryId::MIN,
            parked: BTreeMap::new(),
        }
    }

    /// The time plus the sum of its backward jumps, so that setting the clock back does not extend a lease.
    fn lease_clock(&mut self, now: u64) -> u64 {
        self.back += self.seen.map_or(0, |seen| seen.saturating_sub(now));
        self.seen = Some(now);
        now + self.back
    }

    /// Runs a step of a reader that is current.
    pub(super) fn check<T>(&mut self, reader: Reader, step: impl FnOnce(&mut Self, Name) -> T) -> Reply<T> {
        let leases_partition = reader.fence != 0;
        if leases_partition != (self.mode == Mode::Partition) {
            return Reply::OtherMode;
        }
        let owns = self.owner.is_some_and(|(owner, _)| owner == reader.consumer) && self.fence == reader.fence;
        if (leases_partition && !owns) || self.epoch != reader.epoch {
            return Reply::Stale;
        }
        Reply::Done(step(self, name_of(reader)))
    }

    pub(super) fn join(&mut self, now: u64, consumer: Token, lease_ms: u64, fence_floor: u64) -> Joined {
        let lease_now = self.lease_clock(now);
        let granted =
            |fence, epoch, lease_left_ms| Joined::Granted { reader: Reader { consumer, fence, epoch }, lease_left_ms };
        if self.mode == Mode::Entry {
            return granted(0, self.epoch, 0);
        }
        if let Some((owner, ends)) = self.owner
            && ends > lease_now
        {
            if owner == consumer {
                return granted(self.fence, self.epoch, ends - lease_now);
            }
            return Joined::Taken { free_in_ms: ends - lease_now };
        }
        self.fence = (self.fence + 1).max(now * 1000).max(fence_floor + 1);
        self.owner = Some((consumer, lease_now + lease_ms));
        granted(self.fence, self.epoch, lease_ms)
    }

    pub(super) fn leave(&mut self) {
        self.owner = None;
    }

    pub(super) fn take_over(&mut self, now: u64, log: &Log, me: &Name, after: EntryId, limit: usize) -> TakenOver {
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

    pub(super) fn read(&mut self, now: u64, log: &Log, me: &Name, want: usize, lease_ms: u64) -> Reply<ReadEntries> {
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
        self.redeliver(now, lease_now, log, me, want.div_ceil(2), ends, &mut read);
        self.read_new(now, log, me, want - read.entries.len(), ends, &mut read);
        self.redeliver(now, lease_now, log, me, want - read.entries.len(), ends, &mut read);
        let due = self.due.first_time().map(|due| due.saturating_sub(now));
        let ends = self.leased.first_time().map(|ends| ends.saturating_sub(lease_now));
        read.next_in_ms = due.into_iter().chain(ends).min();
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
        for lapsed in [false, true] {
            let limit = room - read.entries.len();
            let ids = if lapsed { self.leased.until(lease_now, limit) } else { self.due.until(now, limit) };
            for id in ids {
                let Some(entry) = log.entries.get(&id) else {
                    self.finish(id);
                    read.lost.push(id);
                    continue;
                };
                read.entries.push(self.deliver_again(now, id, me, entry, lapsed));
                if let Some(ends) = ends {
                    self.leased.set(&id, ends);
                }
            }
        }
    }

    fn read_new(&mut self, now: u64, log: &Log, me: &Name, want: usize, ends: Option<u64>, read: &mut ReadEntries) {
        for (id, entry) in log.after(self.position).take(want) {
            self.position = id;
            if entry.sent_back.as_ref().is_some_and(|(group, _)| *group != self.name) {
                continue;
            }
            self.pending.insert(id, Pending { owner: me.clone(), count: 1 });
            read.entries.push(self.deliver(now, id, 1, entry, None, false));
            if let Some(ends) = ends {
                self.leased.set(&id, ends);
            }
        }
    }

    fn deliver_again(&mut self, now: u64, id: EntryId, me: &Name, entry: &LogEntry, lapsed: bool) -> Delivered {
        self.due.remove(&id);
        let count = self.pending.get_mut(&id).map_or(0, |held| {
            held.owner.clone_from(me);
            held.count += 1;
            held.count
        });
        self.deliver(now, id, count, entry, None, lapsed)
    }

    /// If `lapsed`, the previous delivery ended without an outcome.
    fn deliver(
        &mut self,
        now: u64,
        id: EntryId,
        count: u32,
        entry: &LogEntry,
        due: Option<u64>,
        lapsed: bool,
    ) -> Delivered {
        if let Some(tries) = self.tries.get_mut(&id)
            && lapsed
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

    /// `Settled` if the delivery is current.
    fn state_of(&self, delivery: Delivery, me: &Name) -> Verdict {
        match self.pending.get(&delivery.id) {
            None => Verdict::AlreadySettled,
            Some(held) if held.owner != *me || held.count != delivery.count => Verdict::Stale,
            Some(_) if self.due.get(&delivery.id).is_some() => Verdict::AlreadySettled,
            Some(_) => Verdict::Settled,
        }
    }

    pub(super) fn settle(&mut self, now: u64, log: &Log, me: &Name, settlements: &[Settlement]) -> Vec<Verdict> {
        let mut settle = |settlement: &Settlement| {
            let delivery = settlement.delivery;
            let verdict = self.state_of(delivery, me);
            if verdict == Verdict::Settled {
                match &settlement.outcome {
                    Outcome::Done => self.finish(delivery.id),
                    Outcome::Retry { delay_ms, error } => self.wait(now, delivery, *delay_ms, Some(error)),
                    Outcome::Snooze { delay_ms } => self.wait(now, delivery, *delay_ms, None),
                    Outcome::Dead { reason, parks_key } => self.die(now, log, delivery, reason, *parks_key),
                }
            }
            verdict
        };
        settlements.iter().map(&mut settle).collect()
    }

    fn finish(&mut self, id: EntryId) {
        self.pending.remove(&id);
        self.due.remove(&id);
        self.leased.remove(&id);
        self.tries.remove(&id);
    }

    fn wait(&mut self, now: u64, delivery: Delivery, delay_ms: u64, error: Option<&Bytes>) {
        let tries = self.tries.entry(delivery.id).or_default();
        tries.outcome_at = delivery.count;
        if let Some(error) = error {
            tries.errors = tries.errors.saturating_add(1);
            tries.note(now, NoteKind::Failed, error);
        }
        self.leased.remove(&delivery.id);
        self.due.set(&delivery.id, now + delay_ms);
    }

    fn die(&mut self, now: u64, log: &Log, delivery: Delivery, reason: &Bytes, parks_key: bool) {
        let mut tries = self.tries.remove(&delivery.id).unwrap_or_default();
        tries.errors = tries.errors.saturating_add(1);
        tries.outcome_at = delivery.count;
        tries.note(now, NoteKind::Dead, reason);
        let (key, record, origin) = log.entries.get(&delivery.id).map_or_else(Default::default, |entry| {
            let origin = entry.sent_back.as_ref().map(|(_, origin)| *origin);
            (entry.key.clone(), entry.record.clone(), origin)
        });
        self.dead_last = next_id(self.dead_last, now);
        if parks_key {
            *self.parked.entry(key.clone()).or_default() += 1;
        }
        let (id, origin) = (self.dead_last, origin.unwrap_or(delivery.id));
        self.dead.insert(id, DeadLetter { id, origin, parks_key, tries: Some(tries), key, record });
        self.finish(delivery.id);
    }

    pub(super) fn beat(&mut self, now: u64, me: &Name, lease_ms: u64, beats: &[Beat]) -> Vec<bool> {
        let lease_now = self.lease_clock(now);
        let ends = lease_now + lease_ms;
        if self.mode == Mode::Partition
            && let Some((_, until)) = &mut self.owner
        {
            *until = ends.max(*until);
        }
        self.consumers.set(me, lease_now);
        let mut beat = |beat: &Beat| {
            let id = beat.delivery.id;
            let is_current = self.state_of(beat.delivery, me) == Verdict::Settled;
            if is_current && self.mode == Mode::Entry {
                self.leased.set(&id, self.leased.get(&id).map_or(ends, |until| until.max(ends)));
            }
            if is_current && beat.alone {
                self.tries.entry(id).or_default().alone_at = beat.delivery.count;
            }
            is_current
        };
        beats.iter().map(&mut beat).collect()
    }

    pub(super) fn discard(&mut self, letters: &[EntryId]) -> Vec<bool> {
        let mut discard = |id: &EntryId| {
            let Some(letter) = self.dead.remove(id) else { return false };
            if letter.parks_key {
                let left = self.parked.get(&letter.key).copied().unwrap_or(0) - 1;
                if left > 0 {
                    self.parked.insert(letter.key, left);
                } else {
                    self.parked.remove(&letter.key);
                }
            }
            true
        };
        letters.iter().map(&mut discard).collect()
    }

    pub(super) fn seek(&mut self, now: u64, position: EntryId) {
        self.position = position;
        self.pending.clear();
        self.due.clear();
        self.leased.clear();
        self.tries.clear();
        self.consumers.clear();
        self.taken = 0;
        self.epoch = now.max(self.epoch + 1);
    }

    pub(super) fn pause(&mut self, until: Option<u64>) {
        self.paused = until.filter(|until| *until < FOREVER_MS).unwrap_or(u64::MAX);
    }

    pub(super) fn sweep(&mut self, now: u64, silent_ms: u64) -> u64 {
        let lease_now = self.lease_clock(now);
        let Some(before) = lease_now.checked_sub(silent_ms) else { return 0 };
        let silent = self.consumers.until(before, SWEEP_MAX);
        let is_idle = |name: &Name| self.pending.values().all(|held| held.owner != *name);
        let idle: Vec<Name> = silent.into_iter().filter(is_idle).collect();
        idle.iter().for_each(|name| self.consumers.remove(name));
        idle.len() as u64
    }

    pub(super) fn stats(&self, now: u64, log: &Log) -> GroupStats {
        let lease_now = now + self.back + self.seen.map_or(0, |seen| seen.saturating_sub(now));
        GroupStats {
            now,
            epoch: self.epoch,
            mode: self.mode,
            length: log.entries.len() as u64,
            tail: log.tail(),
            position: self.position,
            unread: log.after(self.position).next().map(|(id, _)| id),
            pending: self.pending.len() as u64,
            oldest_pending: self.pending.first_key_value().map(|(id, _)| *id),
            delayed: self.due.len() as u64,
            dead: self.dead.len() as u64,
            parked_keys: self.parked.len() as u64,
            owner: self.owner.map(|(owner, ends)| (owner, self.fence, ends.saturating_sub(lease_now))),
            paused_until: (self.paused > now).then_some(self.paused),
        }
    }
}
