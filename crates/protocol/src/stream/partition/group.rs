//! A group of one partition: who may read, what is pending, and what died.

use super::index::Index;
use crate::stream::id::EntryId;
use crate::stream::name::GroupName;
use crate::stream::steps::{DeadLetter, Delivery, Mode, Reader, Reply, Verdict};
use crate::stream::tries::Tries;
use bytes::Bytes;
use evenkeel_link::Token;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of a group.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) name: GroupName,
    pub(crate) mode: Mode,
    pub(crate) epoch: u64,
    /// The owner of the partition, and until when on the lease clock.
    pub(crate) owner: Option<(Token, u64)>,
    /// The last fencing token.
    pub(crate) fence: u64,
    /// The fencing token under which the pending entries were taken over.
    pub(crate) taken: u64,
    /// Until when it is paused.
    pub(crate) paused: u64,
    /// The server time that the last step with leases saw, and the sum of its backward jumps.
    pub(crate) seen: Option<u64>,
    pub(crate) back: u64,
    pub(crate) position: EntryId,
    pub(crate) pending: BTreeMap<EntryId, Pending>,
    /// When delayed entries are due.
    pub(crate) due: Index<EntryId>,
    /// When the leases of running entries end, on the lease clock.
    pub(crate) leased: Index<EntryId>,
    pub(crate) tries: BTreeMap<EntryId, Tries>,
    /// The last call of each consumer, on the lease clock.
    pub(crate) consumers: Index<Name>,
    pub(crate) dead: BTreeMap<EntryId, DeadLetter>,
    pub(crate) dead_last: EntryId,
    /// The dead letters of each parked key.
    pub(crate) parked: BTreeMap<Bytes, i64>,
    /// The consumers that are alive, and until when on the lease clock.
    pub(crate) members: BTreeMap<Name, (Token, u64)>,
}

/// A delivered entry without a final outcome.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    /// The name of the consumer that has it.
    pub(crate) owner: Name,
    pub(crate) count: u32,
}

/// The name of a consumer in Redis.
pub(crate) type Name = Arc<str>;

/// Each lease of a partition has a name of its own.
pub(super) fn name_of(reader: Reader) -> Name {
    match reader.fence {
        0 => format!("{:?}", reader.consumer).into(),
        fence => format!("{:?}-{fence}", reader.consumer).into(),
    }
}

impl Group {
    pub(crate) fn new(name: GroupName, mode: Mode, epoch: u64, position: EntryId) -> Self {
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
    pub(crate) fn lease_clock(&mut self, now: u64) -> u64 {
        self.back += self.seen.map_or(0, |seen| seen.saturating_sub(now));
        self.seen = Some(now);
        now + self.back
    }

    /// The reply to a reader that is not current.
    pub(super) fn refused<T>(&self, reader: Reader) -> Option<Reply<T>> {
        let leases_partition = reader.fence != 0;
        if leases_partition != (self.mode == Mode::Partition) {
            return Some(Reply::OtherMode);
        }
        let owns = self.owner.is_some_and(|(owner, _)| owner == reader.consumer) && self.fence == reader.fence;
        ((leases_partition && !owns) || self.epoch != reader.epoch).then_some(Reply::Stale)
    }

    /// `Settled` if the delivery is current.
    pub(crate) fn state_of(&self, delivery: Delivery, me: &Name) -> Verdict {
        match self.pending.get(&delivery.id) {
            None => Verdict::AlreadySettled,
            Some(held) if held.owner != *me || held.count != delivery.count => Verdict::Stale,
            Some(_) if self.due.get(&delivery.id).is_some() => Verdict::AlreadySettled,
            Some(_) => Verdict::Settled,
        }
    }

    pub(crate) fn finish(&mut self, id: EntryId) {
        self.pending.remove(&id);
        self.due.remove(&id);
        self.leased.remove(&id);
        self.tries.remove(&id);
    }
}
