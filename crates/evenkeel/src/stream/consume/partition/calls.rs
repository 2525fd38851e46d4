//! The calls of a session.

use super::held::Held;
use super::reads::read_call;
use super::session::{End, Session};
use super::{Inbox, REPEAT, Worker};
use crate::handling::handler::Handling;
use crate::stream::consume::entry::failures_of;
use evenkeel_link::support::guard;
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::steps::{
    Delivery, Heartbeat, ITEMS_MAX, Leave, Outcome, REPLY_BYTES_MAX, Reader, Reply, Running, Settle, Settlement,
    Verdict,
};
use std::sync::Arc;
use std::time::Duration;

/// How long a canceled handler may take to stop; after that its entry has to wait for the end of the lease.
const STOP: Duration = Duration::from_secs(1);
/// The deadline of the last calls.
const FAREWELL: Duration = Duration::from_secs(5);

/// The result of a call; how the session ends, if it is no longer current.
pub(super) fn current<R>(reply: Reply<R>) -> Result<R, End> {
    match reply {
        Reply::Done(done) => Ok(done),
        Reply::Missing => Err(End::Missing),
        Reply::Stale | Reply::OtherMode | Reply::TakeOverFirst => Err(End::Lost),
    }
}

impl<T: Send + Sync + 'static> Session<T> {
    /// Records outcomes and reads, in one round trip.
    pub(super) async fn settle_and_read(&mut self) -> Result<(), End> {
        let worker = Arc::clone(&self.worker);
        let (part, room, sent) = (self.next_part(), self.room(), self.now());
        let read = async {
            match &room {
                Some(room) => Some(read_call(&worker, self.reader, room.want, self.is_heavy).await),
                None => None,
            }
        };
        let (settled, read) = tokio::join!(settle_call(&worker, self.reader, &self.settlements[..part]), read);
        // The store may have executed the read first, without what the settlements change: until these are taken as recorded, what they
        // have decided binds what was read.
        if let (Some(read), Some(room)) = (read, room) {
            self.has_read(read, room, sent)?;
        }
        self.settled(part, settled)
    }

    /// Records outcomes.
    pub(super) async fn settle(&mut self) -> Result<(), End> {
        let part = self.next_part();
        let settled = settle_call(&Arc::clone(&self.worker), self.reader, &self.settlements[..part]).await;
        self.settled(part, settled)
    }

    /// The number of outcomes that the next call records: the first in the order of the log, which the script finds together. It copies the
    /// entries that become dead letters.
    fn next_part(&mut self) -> usize {
        self.settlements.sort_unstable_by_key(|settlement| settlement.delivery.id);
        let mut copied = 0;
        let fits = |settlement: &&Settlement| {
            let is_small = copied < REPLY_BYTES_MAX;
            if matches!(settlement.outcome, Outcome::Dead { .. }) {
                copied += self.running.get(&settlement.delivery).map_or(0, |held| held.delivered.bytes());
            }
            is_small
        };
        self.settlements.iter().take(ITEMS_MAX).take_while(fits).count()
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
            let held = self.running.remove(&delivery);
            let attempt = held.as_ref().map_or(0, |held| failures_of(&held.delivered) + 1);
            if let (Some(held), Outcome::Dead { parks_key: true, .. }) = (&held, &outcome) {
                self.queues.recorded(&held.delivered.key);
            }
            run.metrics.settled(verdict);
            match (verdict, outcome) {
                // An attempt whose reply was lost may have recorded it.
                (
                    Verdict::Settled | Verdict::AlreadySettled,
                    Outcome::Retry { delay_ms, .. } | Outcome::Snooze { delay_ms },
                ) => {
                    let due_at = now + Duration::from_millis(delay_ms);
                    self.due_at = Some(self.due_at.map_or(due_at, |first| first.min(due_at)));
                }
                (Verdict::Settled, Outcome::Dead { reason, .. }) => {
                    let reason = String::from_utf8_lossy(&reason);
                    tracing::error!(
                        stream = %run.core.base.name, group = %run.group, id = %delivery.id, attempt, %reason,
                        "an entry has become a dead letter"
                    );
                }
                (Verdict::Stale, _) => {
                    tracing::warn!(
                        stream = %run.core.base.name, group = %run.group, id = %delivery.id, attempt,
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
        let mut heartbeats: Vec<Running> =
            running.map(|(delivery, held)| Running { delivery: *delivery, alone: held.alone }).collect();
        let waiting = if self.is_ordered() { Vec::new() } else { self.queues.waiting() };
        heartbeats.extend(waiting.iter().map(|delivery| Running { delivery: *delivery, alone: false }));
        let mut lost = Vec::new();
        let empty: &[Running] = &[];
        let parts: Vec<&[Running]> =
            if heartbeats.is_empty() { vec![empty] } else { heartbeats.chunks(ITEMS_MAX).collect() };
        for part in parts {
            if part.is_empty() && !self.is_ordered() {
                continue;
            }
            let lease_ms = run.settings.lease_ms();
            let (group, deliveries) = (run.group.clone(), part.to_vec());
            let heartbeat = Heartbeat { group, reader: self.reader, lease_ms, deliveries };
            match run.core.base.store.run(&worker.partition, &heartbeat).await {
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
        self.leased_until = sent + lease;
        for held in self.running.values_mut() {
            held.until = sent + lease;
            held.was_alone = false;
        }
        for delivery in lost {
            self.lose(delivery);
            if waiting.contains(&delivery) {
                self.queues.forget(delivery.id);
            }
        }
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

    pub(super) fn failed(&mut self, step: &'static str, error: &StreamError) -> Duration {
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
        let leave = Leave { group: run.group.clone(), reader: self.reader };
        let farewell = async {
            while !self.settlements.is_empty() {
                let before = self.settlements.len();
                if self.settle().await.is_err() || self.settlements.len() == before {
                    return;
                }
            }
            if self.is_ordered()
                && guard("stream_partition_returned")
                && let Err(error) = run.core.base.store.run(&worker.partition, &leave).await
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

async fn settle_call<T>(
    worker: &Worker<T>,
    reader: Reader,
    settlements: &[Settlement],
) -> Result<Reply<Vec<Verdict>>, StreamError> {
    let run = &worker.run;
    let settle = Settle { group: run.group.clone(), reader, settlements: settlements.to_vec() };
    run.core.base.store.run(&worker.partition, &settle).await
}

fn given_back(delivery: Delivery) -> Settlement {
    Settlement { delivery, outcome: Outcome::Snooze { delay_ms: 0 } }
}
