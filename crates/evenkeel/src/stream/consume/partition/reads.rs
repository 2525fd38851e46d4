//! The reads of a session: new entries, those that are delivered again, and those of a take-over.

use super::Worker;
use super::calls::current;
use super::session::{End, Session};
use crate::stream::consume::run::Slot;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::guard;
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::steps::{
    Delivered, Delivery, ITEMS_MAX, REPLY_BYTES_MAX, Read, ReadEntries, Reader, Reply, TakeOver,
};
use std::sync::Arc;
use std::time::Duration;

/// How far the estimated time of the server may be from its real one.
const CLOCKS_DIFFER_MS: u64 = 1_000;

impl<T: Send + Sync + 'static> Session<T> {
    /// Pages through the pending entries: all of them in an ordered group, otherwise those of this consumer, whose delivery may have been
    /// lost with a reply.
    /// Returns whether the store answered.
    pub(super) async fn take_over(&mut self) -> Result<bool, End> {
        let worker = Arc::clone(&self.worker);
        let (run, store) = (&worker.run, &worker.run.core.base.store);
        let mut after = EntryId::MIN;
        loop {
            let heavy = run.core.base.streams.heavy.turn(self.is_heavy).await;
            let next = TakeOver { group: run.group.clone(), reader: self.reader, after, limit: ITEMS_MAX };
            let page = store.run(&worker.partition, &next).await;
            drop(heavy);
            let page = match page {
                Ok(reply) => current(reply)?,
                Err(error) => {
                    run.metrics.failed("take_over", &error);
                    return Ok(false);
                }
            };
            self.is_heavy = is_heavy(&page.entries);
            self.report_lost(&page.lost);
            let now_ms = store.now_ms();
            for delivered in page.entries {
                self.hold(delivered, now_ms);
            }
            match page.next {
                Some(next) => after = next,
                None => break,
            }
        }
        if !self.is_ordered() {
            // How much is left of their leases is not known.
            (self.leased_until, self.heartbeat_at) = (self.now(), self.now());
        }
        Ok(true)
    }

    /// Adds an entry of a take-over, unless it runs. One that is delayed holds its key back if the group says so, or if it is due already:
    /// a former owner has returned it before its turn.
    fn hold(&mut self, delivered: Delivered, now_ms: u64) {
        let delivery = Delivery { id: delivered.id, count: delivered.count };
        if self.running.contains_key(&delivery) {
            return;
        }
        let Some(due) = delivered.due else {
            if delivered.count > 1 {
                self.worker.run.metrics.redelivered.increment(1);
            }
            return self.queues.push(delivered, false);
        };
        let is_due = due <= now_ms + CLOCKS_DIFFER_MS;
        if self.is_ordered() && (is_due || self.worker.run.settings.ordering.blocks()) {
            let due_at = self.now() + Duration::from_millis(due.saturating_sub(now_ms));
            self.due_at = Some(self.due_at.map_or(due_at, |first| first.min(due_at)));
            self.queues.push(delivered, true);
        }
    }

    /// Reads as many entries as there is room for.
    pub(super) async fn read(&mut self) -> Result<(), End> {
        let Some(room) = self.room() else { return Ok(()) };
        let sent = self.now();
        let read = read_call(&Arc::clone(&self.worker), self.reader, room.want, self.is_heavy).await;
        self.has_read(read, room, sent)
    }

    pub(super) fn room(&mut self) -> Option<Room> {
        let run = Arc::clone(&self.worker.run);
        let mut slots = Vec::new();
        let want = if self.is_ordered() {
            let room = if self.is_full() { 0 } else { run.buffer - self.queues.held() };
            // Those that are delivered again have room already.
            let due = if self.due_at.is_some_and(|due_at| due_at <= self.now()) { self.queues.delayed() } else { 0 };
            room.max(due).min(ITEMS_MAX)
        } else {
            slots = run.slots.take_share(self.is_backlogged, ITEMS_MAX);
            if guard("stream_free_slots") { slots.len() } else { ITEMS_MAX }
        };
        if want == 0 {
            // Nothing that this worker holds is due.
            self.due_at = self.due_at.filter(|due_at| *due_at > self.now());
            return None;
        }
        Some(Room { want, slots })
    }

    /// Takes in what a read has returned that was sent at this time, and starts what it had slots for.
    pub(super) fn has_read(
        &mut self,
        read: Result<Reply<ReadEntries>, StreamError>,
        room: Room,
        sent: Moment,
    ) -> Result<(), End> {
        let run = Arc::clone(&self.worker.run);
        let read = match read {
            Ok(reply) => current(reply)?,
            Err(error) => {
                self.must_recover |= error.outcome_unknown();
                let pause = self.failed("read", &error);
                self.look_again(Some(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)));
                return Ok(());
            }
        };
        self.failures = 0;
        run.metrics.success(run.core.base.clock.unix_ms());
        let until = sent + run.settings.lease;
        self.leased_until = if self.queues.has_ready() { self.leased_until.min(until) } else { until };
        self.is_heavy = is_heavy(&read.entries);
        self.take_in(read, room.want);
        self.note_blocked();
        for slot in room.slots {
            if !self.is_leased() {
                break;
            }
            let Some(delivered) = self.queues.next() else { break };
            self.start(delivered, slot);
        }
        Ok(())
    }

    fn take_in(&mut self, read: ReadEntries, want: usize) {
        self.report_lost(&read.lost);
        let is_full = read.entries.len() >= want || (self.is_heavy && read.next_in_ms == Some(0));
        let again = read.entries.iter().filter(|delivered| delivered.count > 1).count();
        self.worker.run.metrics.redelivered.increment(again as u64);
        for delivered in read.entries {
            self.queues.push(delivered, false);
        }
        self.tail = read.tail;
        self.look_again(read.next_in_ms);
        if is_full {
            self.look_at = self.now();
        }
        let run = Arc::clone(&self.worker.run);
        run.slots.set_backlogged(&mut self.is_backlogged, is_full);
    }

    /// Notes an entry whose keys wait for it, when it becomes known that nothing can be read before.
    pub(super) fn note_blocked(&mut self) {
        let is_full = self.is_ordered() && self.is_full();
        let is_blocked = is_full && self.queues.delayed() > 0;
        if is_blocked && !self.is_blocked {
            self.worker.run.metrics.blocked.increment(1);
            tracing::warn!(
                stream = %self.worker.run.core.base.name, group = %self.worker.run.group, partition = self.worker.number,
                delayed = self.queues.delayed(),
                "entries that wait for a retry block so many others that the partition is not read until one is done"
            );
        }
        // Once, not for each delivery of the entry that the others wait for.
        self.is_blocked = is_full && (is_blocked || self.is_blocked);
    }

    fn report_lost(&mut self, lost: &[EntryId]) {
        for id in lost {
            self.worker.run.metrics.lost.increment(1);
            tracing::error!(
                stream = %self.worker.run.core.base.name, group = %self.worker.run.group, %id,
                "a pending entry was deleted from the log by another program; the group cannot handle it"
            );
            self.queues.forget(*id);
        }
    }
}

/// Entries that can be taken in, with a slot for each where entries are leased.
pub(super) struct Room {
    pub(super) want: usize,
    slots: Vec<Slot>,
}

/// Whether entries are so large that no others of their size should be on the way to this process at the same time.
fn is_heavy(entries: &[Delivered]) -> bool {
    entries.iter().map(Delivered::bytes).sum::<usize>() >= REPLY_BYTES_MAX / 4
}

pub(super) async fn read_call<T>(
    worker: &Worker<T>,
    reader: Reader,
    want: usize,
    is_heavy: bool,
) -> Result<Reply<ReadEntries>, StreamError> {
    let run = &worker.run;
    let _heavy = run.core.base.streams.heavy.turn(is_heavy).await;
    let read = Read { group: run.group.clone(), reader, limit: want, lease_ms: run.settings.lease_ms() };
    run.core.base.store.run(&worker.partition, &read).await
}
