//! [`TakeOver`]: pending entries of a former owner, or of a lost reply.

use super::{Delivered, Reader};
use crate::stream::partition::{Log, Name};
use crate::stream::steps::Mode;
use crate::stream::steps::prelude::*;

/// In [`Mode::Partition`] takes over all pending entries, in order; in [`Mode::Entry`] returns those of this consumer, whose delivery may have
/// been lost with a reply. A page has up to `limit` entries, within the bytes of a reply.
#[derive(Clone, Debug)]
pub struct TakeOver {
    /// The group.
    pub group: GroupName,
    /// The caller.
    pub reader: Reader,
    /// The page begins after this entry.
    pub after: EntryId,
    /// The maximum number of entries.
    pub limit: usize,
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

impl Step<Partition> for TakeOver {
    type Reply = Reply<TakenOver>;

    fn check(&self) -> Checked {
        check::page(self.limit)
    }

    fn call(&self, _: &Partition) -> Call {
        let args = Args::of(&self.group).reader(self.reader).id(self.after).size(self.limit);
        Call::function(&scripts::TAKE_OVER, args)
    }

    fn reply(&self, value: Value) -> Replied<Reply<TakenOver>> {
        wire::coded(value, |mut parts| {
            let next = wire::optional_id(parts.take()?)?;
            let lost = wire::each(parts.take()?, wire::id)?;
            Ok(TakenOver { next, lost, entries: wire::deliveries(parts.take()?)? })
        })
    }

    fn apply(&self, state: &mut PartitionState, now: u64) -> Replied<Reply<TakenOver>> {
        state.by_reader(&self.group, self.reader, |group, log, me| {
            Reply::Done(group.take_over(now, log, me, self.after, self.limit))
        })
    }
}

impl Group {
    fn take_over(&mut self, now: u64, log: &Log, me: &Name, after: EntryId, limit: usize) -> TakenOver {
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
}
