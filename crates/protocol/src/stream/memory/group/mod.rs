//! A group of one partition: who may read, what is pending, and what died.

mod deliver;
mod settle;

use super::index::Index;
use super::log::Log;
use crate::stream::id::EntryId;
use crate::stream::name::GroupName;
use crate::stream::steps::{DeadLetter, FOREVER_MS, GroupStats, ITEMS_MAX, Joined, Mode, Reader, Reply};
use crate::stream::tries::Tries;
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
    /// The consumers that are alive, and until when on the lease clock.
    members: BTreeMap<Name, (Token, u64)>,
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
            members: BTreeMap::new(),
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

    pub(super) fn attend(&mut self, now: u64, consumer: Token, lease_ms: u64) -> Vec<Token> {
        let lease_now = self.lease_clock(now);
        let name = |consumer: Token| -> Name { format!("{consumer:?}").into() };
        self.members.retain(|_, (_, ends)| *ends > lease_now);
        if lease_ms > 0 {
            self.members.insert(name(consumer), (consumer, lease_now + lease_ms));
        } else {
            self.members.remove(&name(consumer));
        }
        self.members.values().map(|(consumer, _)| *consumer).take(ITEMS_MAX).collect()
    }

    pub(super) fn leave(&mut self) {
        self.owner = None;
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
        let is_leased = self.leased.last_time().is_some_and(|ends| ends > lease_now);
        let silent_ms = self.consumers.last_time().map(|seen| lease_now.saturating_sub(seen));
        GroupStats {
            now,
            epoch: self.epoch,
            mode: self.mode,
            length: log.entries.len() as u64,
            tail: log.tail(),
            position: self.position,
            unread: log.after(self.position).next().map(|(id, _)| id),
            unread_entries: Some(log.after(self.position).count() as u64),
            pending: self.pending.len() as u64,
            oldest_pending: self.pending.first_key_value().map(|(id, _)| *id),
            delayed: self.due.len() as u64,
            dead: self.dead.len() as u64,
            parked_keys: self.parked.len() as u64,
            owner: self.owner.map(|(owner, ends)| (owner, self.fence, ends.saturating_sub(lease_now))),
            paused_until: (self.paused > now).then_some(self.paused),
            silent_ms: if is_leased { Some(0) } else { silent_ms },
        }
    }
}
