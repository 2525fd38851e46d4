//! The calls of a session.

use super::session::{End, Held, Session};
use super::{Inbox, REPEAT, Worker};
use crate::handling::handler::Handling;
use crate::stream::consume::run::Slot;
use evenkeel_link::support::guard;
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::steps::{
    Delivered, Delivery, Heartbeat, ITEMS_MAX, Outcome, ReadEntries, Reader, Reply, Settlement, Verdict,
};
use std::sync::Arc;
use std::time::Duration;

/// How far the estimated time of the server may be from its real one.
const CLOCKS_DIFFER_MS: u64 = 1_000;
/// How long a canceled handler may take to stop; after that its entry has to wait for the end of the lease.
const STOP: Duration = Duration::from_secs(1);
/// The deadline of the last calls.
const FAREWELL: Duration = Duration::from_secs(5);

/// The result of a call; how the session ends, if it is no longer current.
fn current<R>(reply: Reply<R>) -> Result<R, End> {
    match reply {
        Reply::Done(done) => Ok(done),
        Reply::Missing => Err(End::Missing),
        Reply::Stale | Reply::OtherMode | Reply::TakeOverFirst => Err(End::Lost),
    }
}

impl<T: Send + Sync + 'static> Session<T> {
    /// Pages through the pending entries: all of them in an ordered group, otherwise those of this consumer, whose delivery may have been
    /// lost with a reply.
    /// Returns whether the store answered.
    pub(super) async fn take_over(&mut self) -> Result<bool, End> {
        let worker = Arc::clone(&self.worker);
        let (run, store) = (&worker.run, &worker.run.core.base.store);
        let mut after = EntryId::MIN;
        loop {
            let page = match store.take_over(&worker.partition, &run.group, self.reader, after, ITEMS_MAX).await {
                Ok(reply) => current(reply)?,
                Err(error) => {
                    run.metrics.failed("take_over", &error);
                    return Ok(false);
                }
            };
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
            self.heartbeat_at = self.now();
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

    /// Records outcomes and reads, in one round trip.
    pub(super) async fn settle_and_read(&mut self) -> Result<(), End> {
        let worker = Arc::clone(&self.worker);
        let (part, room) = (self.next_part(), self.room());
        let read = async {
            match &room {
                Some(room) => Some(read_call(&worker, self.reader, room.want).await),
                None => None,
            }
        };
        let (settled, read) = tokio::join!(settle_call(&worker, self.reader, &self.settlements[..part]), read);
        self.settled(part, settled)?;
        match (read, room) {
            (Some(read), Some(room)) => self.has_read(read, room),
            _ => Ok(()),
        }
    }

    /// Reads as many entries as there is room for.
    pub(super) async fn read(&mut self) -> Result<(), End> {
        let Some(room) = self.room() else { return Ok(()) };
        let read = read_call(&Arc::clone(&self.worker), self.reader, room.want).await;
        self.has_read(read, room)
    }

    fn room(&mut self) -> Option<Room> {
        let run = Arc::clone(&self.worker.run);
        let mut slots = Vec::new();
        let want = if self.is_ordered() {
            let room = run.buffer.saturating_sub(self.queues.held());
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

    fn has_read(&mut self, read: Result<Reply<ReadEntries>, StreamError>, room: Room) -> Result<(), End> {
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
        self.take_in(read, room.want);
        self.note_blocked();
        for slot in room.slots {
            let Some(delivered) = self.queues.next() else { break };
            self.start(delivered, slot);
        }
        Ok(())
    }

    fn take_in(&mut self, read: ReadEntries, want: usize) {
        self.report_lost(&read.lost);
        let is_full = read.entries.len() >= want;
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

    /// Records outcomes.
    pub(super) async fn settle(&mut self) -> Result<(), End> {
        let part = self.next_part();
        let settled = settle_call(&Arc::clone(&self.worker), self.reader, &self.settlements[..part]).await;
        self.settled(part, settled)
    }

    /// The number of outcomes that the next call records: the first in the order of the log, which the script finds together.
    fn next_part(&mut self) -> usize {
        self.settlements.sort_unstable_by_key(|settlement| settlement.delivery.id);
        self.settlements.len().min(ITEMS_MAX)
    }

    fn settled(&mut self, part: usize, settled: Result<Reply<Vec<Verdict>>, StreamError>) -> Result<(), End> {
        let run = Arc::clone(&self.worker.run);
        let verdicts = match settled {
            Ok(reply) => current(reply)?,
            Err(error) => {
                self.settle_at = self.now() + self.failed("settle", &error);
                return Ok(());
            }
        };
        self.failures = 0;
        let now = self.now();
        let settled: Vec<Settlement> = self.settlements.drain(..part).collect();
        for (Settlement { delivery, outcome }, verdict) in settled.into_iter().zip(verdicts) {
            self.running.remove(&delivery);
            run.metrics.settled(verdict);
            match (verdict, outcome) {
                (Verdict::Settled, Outcome::Retry { delay_ms, .. } | Outcome::Snooze { delay_ms }) => {
                    let due_at = now + Duration::from_millis(delay_ms);
                    self.due_at = Some(self.due_at.map_or(due_at, |first| first.min(due_at)));
                }
                (Verdict::Settled, Outcome::Dead { reason, .. }) => {
                    let reason = String::from_utf8_lossy(&reason);
                    tracing::error!(
                        stream = %run.core.base.name, group = %run.group, id = %delivery.id, %reason, "an entry has become a dead letter"
                    );
                }
                (Verdict::Stale, _) => {
                    tracing::warn!(
                        stream = %run.core.base.name, group = %run.group, id = %delivery.id,
                        "a delivery was settled too late; another consumer has the entry"
                    );
                }
                _ => {}
            }
        }
        self.note_blocked();
        Ok(())
    }

    /// Extends the leases, and reports which deliveries run alone.
    pub(super) async fn heartbeat(&mut self) -> Result<(), End> {
        let worker = Arc::clone(&self.worker);
        let (run, lease) = (&worker.run, worker.run.settings.lease);
        let sent = self.now();
        let is_told = |held: &Held| !self.is_ordered() || held.alone || held.was_alone;
        let running = self.running.iter().filter(|(_, held)| is_told(held));
        let mut heartbeats: Vec<Heartbeat> =
            running.map(|(delivery, held)| Heartbeat { delivery: *delivery, alone: held.alone }).collect();
        if !self.is_ordered() {
            heartbeats.extend(self.queues.waiting().into_iter().map(|delivery| Heartbeat { delivery, alone: false }));
        }
        let mut lost = Vec::new();
        let empty: &[Heartbeat] = &[];
        let parts: Vec<&[Heartbeat]> =
            if heartbeats.is_empty() { vec![empty] } else { heartbeats.chunks(ITEMS_MAX).collect() };
        for part in parts {
            if part.is_empty() && !self.is_ordered() {
                continue;
            }
            let lease_ms = run.settings.lease_ms();
            match run.core.base.store.heartbeat(&worker.partition, &run.group, self.reader, lease_ms, part).await {
                Ok(reply) => {
                    let flags = current(reply)?;
                    lost.extend(
                        part.iter()
                            .zip(flags)
                            .filter(|(_, is_current)| !is_current)
                            .map(|(heartbeat, _)| heartbeat.delivery),
                    );
                }
                Err(error) => {
                    run.metrics.failed("heartbeat", &error);
                    // After a failure the shorter interval leaves time for several attempts before a lease expires.
                    self.heartbeat_at = self.now() + lease / 12;
                    return self.expire();
                }
            }
        }
        self.heartbeat_at = sent + lease / 3;
        self.ends = self.ends.map(|_| sent + lease);
        for held in self.running.values_mut() {
            held.until = sent + lease;
            held.was_alone = false;
        }
        lost.into_iter().for_each(|delivery| self.lose(delivery));
        for (delivery, reply) in std::mem::take(&mut self.reports) {
            // A handler that was dropped waits for no report.
            let _ = reply.send(self.running.contains_key(&delivery));
        }
        Ok(())
    }

    /// Cancels the handlers whose leases have passed while the store did not answer.
    fn expire(&mut self) -> Result<(), End> {
        if !self.is_ordered() {
            let now = self.now();
            let over = self.running.iter().filter(|(_, held)| held.until <= now && !held.ended);
            let over: Vec<Delivery> = over.map(|(delivery, _)| *delivery).collect();
            over.into_iter().for_each(|delivery| self.lose(delivery));
        }
        Ok(())
    }

    fn failed(&mut self, step: &'static str, error: &StreamError) -> Duration {
        self.worker.run.metrics.failed(step, error);
        self.failures += 1;
        REPEAT.delay(self.failures)
    }

    /// Returns what has not run, and the partition.
    pub(super) async fn leave(&mut self) {
        let waiting = self.queues.waiting();
        self.settlements.extend(waiting.into_iter().map(given_back));
        let worker = Arc::clone(&self.worker);
        let run = &worker.run;
        let farewell = async {
            while !self.settlements.is_empty() {
                let before = self.settlements.len();
                if self.settle().await.is_err() || self.settlements.len() == before {
                    return;
                }
            }
            if self.is_ordered()
                && guard("stream_partition_returned")
                && let Err(error) = run.core.base.store.leave(&worker.partition, &run.group, self.reader).await
            {
                run.metrics.failed("leave", &error);
            }
        };
        if run.core.base.clock.timeout(FAREWELL, farewell).await.is_err() {
            tracing::warn!(partition = ?worker.partition, "the store did not answer; unsettled entries are delivered again after the lease");
        }
    }

    /// Ends at the end of the consumer's drain: cancels the handlers, and returns their entries at once, without using an attempt. If one
    /// does not stop, its entry, and in an ordered group the partition, wait for the end of the lease.
    pub(super) async fn stop(&mut self, inbox: &mut Inbox) -> End {
        let worker = Arc::clone(&self.worker);
        let run = &worker.run;
        while let Ok(message) = inbox.try_recv() {
            self.on(Some(message));
        }
        let clock = &run.core.base.clock;
        let mut all_stopped = true;
        let running: Vec<Delivery> =
            self.running.iter().filter(|(_, held)| !held.ended).map(|(delivery, _)| *delivery).collect();
        for delivery in running {
            let Some(mut held) = self.running.remove(&delivery) else { continue };
            let has_stopped = match held.cancel() {
                Some(task) => clock.timeout(STOP, task).await.is_ok(),
                None => true,
            };
            all_stopped &= has_stopped;
            if has_stopped {
                self.settlements.push(given_back(delivery));
            }
        }
        // A batch ends once all of its attempts have ended.
        if let Handling::Batch(gatherer) = &run.handling
            && clock.timeout(STOP, gatherer.idle()).await.is_err()
        {
            all_stopped = false;
            self.settlements.retain(|settlement| !matches!(settlement.outcome, Outcome::Snooze { delay_ms: 0 }));
        }
        if all_stopped || !self.is_ordered() {
            self.leave().await;
            return End::Left;
        }
        let _ = clock.timeout(FAREWELL, self.settle()).await;
        End::Expires(run.settings.lease)
    }
}

/// Entries that can be taken in, with a slot for each where entries are leased.
struct Room {
    want: usize,
    slots: Vec<Slot>,
}

async fn read_call<T>(worker: &Worker<T>, reader: Reader, want: usize) -> Result<Reply<ReadEntries>, StreamError> {
    let run = &worker.run;
    run.core.base.store.read(&worker.partition, &run.group, reader, want, run.settings.lease_ms()).await
}

async fn settle_call<T>(
    worker: &Worker<T>,
    reader: Reader,
    settlements: &[Settlement],
) -> Result<Reply<Vec<Verdict>>, StreamError> {
    let run = &worker.run;
    run.core.base.store.settle(&worker.partition, &run.group, reader, settlements).await
}

fn given_back(delivery: Delivery) -> Settlement {
    Settlement { delivery, outcome: Outcome::Snooze { delay_ms: 0 } }
}
