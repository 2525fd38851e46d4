//! [`Read`]: entries are delivered.

use super::{Delivered, Reader};
use crate::stream::partition::{Log, LogEntry, Name, Pending};
use crate::stream::steps::prelude::*;
use crate::stream::steps::{Mode, PART_ITEMS};

/// Delivers up to `limit` entries, within the bytes of a reply.
#[derive(Clone, Debug)]
pub struct Read {
    /// The group.
    pub group: GroupName,
    /// The caller.
    pub reader: Reader,
    /// The maximum number of entries.
    pub limit: usize,
    /// The lease of each in [`Mode::Entry`].
    pub lease_ms: u64,
}

/// The reply to a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadEntries {
    /// Entries to be handled now: first those that are delivered again, then new ones in the order of the log.
    pub entries: Vec<Delivered>,
    /// Pending entries that the log has no more: another program has deleted or trimmed them.
    pub lost: Vec<EntryId>,
    /// The last entry of the log, from which a consumer waits for more.
    pub tail: EntryId,
    /// The time until another read returns something: until an entry is delivered again, or a pause ends; 0 if entries that were sent back
    /// to other groups were skipped, or the reply was full before `limit`. `None`: not before something else happens.
    pub next_in_ms: Option<u64>,
    /// Whether the group is paused.
    pub is_paused: bool,
}

impl Step<Partition> for Read {
    type Reply = Reply<ReadEntries>;

    fn check(&self) -> Checked {
        check::page(self.limit)?;
        check::lease(self.lease_ms)
    }

    fn call(&self, _: &Partition) -> Call {
        let args = Args::of(&self.group).reader(self.reader).size(self.limit).number(self.lease_ms);
        Call::function(&scripts::READ, args).after(&scripts::TYPES, Args::of(&self.group))
    }

    fn reply(&self, value: Value) -> Replied<Reply<ReadEntries>> {
        wire::coded(value, |mut parts| {
            let is_paused = parts.number()? == 1;
            let next_in_ms = parts.positive()?;
            let tail = wire::id(parts.take()?)?;
            let lost = wire::each(parts.take()?, wire::id)?;
            Ok(ReadEntries { entries: wire::deliveries(parts.take()?)?, lost, tail, next_in_ms, is_paused })
        })
    }

    fn apply(&self, state: &mut PartitionState, now: u64) -> Replied<Reply<ReadEntries>> {
        state.by_reader(&self.group, self.reader, |group, log, me| group.read(now, log, me, self.limit, self.lease_ms))
    }
}

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
    fn read(&mut self, now: u64, log: &Log, me: &Name, limit: usize, lease_ms: u64) -> Reply<ReadEntries> {
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
}
