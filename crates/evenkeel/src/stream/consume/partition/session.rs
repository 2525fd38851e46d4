//! A session: the time for which a worker is current in its partition, from joining to leaving or losing it.

use super::held::Held;
use super::key_queues::KeyQueues;
use super::{Inbox, Message, POLL_EVERY, REPEAT, Worker};
use crate::handling::cancellation::Cancellation;
use crate::handling::phase::Phase;
use crate::stream::consume::attempt::{self, Tokens};
use crate::stream::consume::entry::failures_of;
use crate::stream::consume::handled::dead;
use crate::stream::consume::run::Slot;
use crate::stream::consume::share::Owned;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::guard;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::steps::{Delivered, Delivery, ITEMS_MAX, Outcome, Reader, Settlement};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// The time for which outcomes wait to be settled together.
const GATHER: Duration = Duration::from_millis(5);

/// An ordered consumer reads no more of a partition once it holds entries of so many bytes.
const BUFFER_BYTES_MAX: usize = 64 << 20;

/// How a session ended.
pub(super) enum End {
    /// The partition was returned, or the consumer has ended.
    Left,
    /// Another consumer has the partition, or the lease has passed, or the group was moved.
    Lost,
    /// Redis has lost the partition or the group.
    Missing,
    /// The partition was not returned, because a handler did not end in time.
    Expires(Duration),
}

/// The state of a session. Dropping it cancels its handlers.
pub(super) struct Session<T> {
    pub(super) worker: Arc<Worker<T>>,
    number: u64,
    pub(super) reader: Reader,
    /// When the lease of the partition ends; `None` if entries are leased.
    pub(super) ends: Option<Moment>,
    /// Until when the entries that wait here are leased, as far as this process knows. Without effect in an ordered group.
    pub(super) leased_until: Moment,
    /// The passed end of a lease after which a heartbeat was due at once. If it fails, the next one follows after its usual pause.
    confirmed: Option<Moment>,
    pub(super) queues: KeyQueues,
    /// Deliveries that run, or whose outcome is not recorded yet.
    pub(super) running: HashMap<Delivery, Held>,
    pub(super) settlements: Vec<Settlement>,
    /// The reports for which suspects wait.
    pub(super) reports: Vec<(Delivery, oneshot::Sender<bool>)>,
    pub(super) tail: EntryId,
    /// When to read again, if nothing is appended before.
    pub(super) look_at: Moment,
    /// When an entry is due that this worker waits for.
    pub(super) due_at: Option<Moment>,
    pub(super) heartbeat_at: Moment,
    pub(super) settle_at: Moment,
    pub(super) failures: u32,
    /// The reply of a read was lost: its entries are found by a take-over.
    pub(super) must_recover: bool,
    pub(super) is_backlogged: bool,
    /// The last reply had large entries, or there was none yet.
    pub(super) is_heavy: bool,
    pub(super) is_blocked: bool,
    /// When the partition is given up although handlers run, after it was decided to return it.
    leave_by: Option<Moment>,
}

impl<T: Send + Sync + 'static> Session<T> {
    pub(super) fn new(worker: Arc<Worker<T>>, number: u64, reader: Reader, ends: Option<Moment>) -> Self {
        let now = worker.run.core.base.clock.now();
        Self {
            queues: KeyQueues::new(worker.run.settings.ordering),
            number,
            reader,
            ends,
            leased_until: now,
            confirmed: None,
            running: HashMap::new(),
            settlements: Vec::new(),
            reports: Vec::new(),
            tail: EntryId::MIN,
            look_at: now,
            due_at: None,
            heartbeat_at: now + worker.run.settings.lease / 3,
            settle_at: now,
            failures: 0,
            must_recover: false,
            is_backlogged: false,
            is_heavy: true,
            is_blocked: false,
            leave_by: None,
            worker,
        }
    }

    pub(super) fn now(&self) -> Moment {
        self.worker.run.core.base.clock.now()
    }

    pub(super) fn is_ordered(&self) -> bool {
        self.ends.is_some()
    }

    /// Reads, runs and settles entries until the session ends.
    pub(super) async fn serve(mut self, inbox: &mut Inbox, owned: Owned) -> End {
        let end = self.serve_until_it_ends(inbox, Some(owned)).await;
        self.worker.run.slots.set_backlogged(&mut self.is_backlogged, false);
        if matches!(end, End::Lost | End::Missing | End::Expires(_)) {
            let running = self.running.values().filter(|held| !held.ended).count();
            self.worker.run.metrics.leases_lost.increment(running as u64);
            let (stream, group, partition) =
                (&self.worker.run.core.base.name, &self.worker.run.group, self.worker.number);
            match running {
                0 => {
                    tracing::info!(%stream, %group, partition, "the consumer is no longer current in a partition; it joins again");
                }
                running => tracing::warn!(
                    %stream, %group, partition, running,
                    "the consumer is no longer current in a partition; its handlers there are canceled, another consumer may run their entries"
                ),
            }
        }
        end
    }

    async fn serve_until_it_ends(&mut self, inbox: &mut Inbox, mut owned: Option<Owned>) -> End {
        let worker = Arc::clone(&self.worker);
        let (run, clock) = (&worker.run, &worker.run.core.base.clock);
        let (mut phases, mut share) = (run.phases.clone(), run.share.changes());
        loop {
            let phase = *phases.borrow_and_update();
            share.borrow_and_update();
            if phase == Phase::Over {
                return self.stop(inbox).await;
            }
            // At the shutdown the share is zero, and the end of the consumer's drain decides.
            let is_excess = phase == Phase::Working && self.leave_by.is_none() && run.share.give_up(&mut owned);
            if is_excess && guard("stream_share_given_up") {
                self.leave_by = Some(self.now() + run.drain);
            }
            let is_draining = phase == Phase::Draining || self.leave_by.is_some();
            if is_draining && self.running.is_empty() {
                self.leave().await;
                return End::Left;
            }
            if phase == Phase::Working && self.leave_by.is_some_and(|by| by <= self.now()) {
                return End::Expires(run.settings.lease);
            }
            self.confirm_leases();
            let (heartbeat_at, settle_at) = (self.heartbeat_at, self.settle_at);
            let leave_by = self.leave_by.filter(|_| phase == Phase::Working);
            let end_at = self.ends.into_iter().chain(leave_by).min();
            let (has_ready, has_settlements) =
                (self.queues.has_ready() && self.is_leased(), !self.settlements.is_empty());
            tokio::select! {
                biased;
                message = inbox.recv() => self.on(message),
                _ = phases.changed() => continue,
                _ = share.changed() => continue,
                () = clock.sleep_until(settle_at), if has_settlements => {}
                () = clock.sleep_until(heartbeat_at) => {}
                () = async { clock.sleep_until(end_at.unwrap_or(heartbeat_at)).await }, if end_at.is_some() => {}
                () = run.slots.available(), if !is_draining && has_ready => {}
                () = self.readable(), if !is_draining => self.look_at = self.now(),
            }
            while let Ok(message) = inbox.try_recv() {
                self.on(Some(message));
            }
            if !is_draining {
                self.gather(inbox).await;
            }
            if let Err(end) = self.step(is_draining).await {
                return end;
            }
        }
    }

    /// Starts entries whose turn it is, and takes the outcomes of handlers that end at once: one call settles them all, where otherwise a
    /// queue would wait for a call after each of its entries. Returns as soon as no handler has ended, and in time for the next heartbeat.
    async fn gather(&mut self, inbox: &mut Inbox) {
        let until = (self.now() + GATHER).min(self.heartbeat_at);
        let mut ended = usize::MAX;
        while ended != self.settlements.len() && self.settlements.len() < ITEMS_MAX {
            ended = self.settlements.len();
            self.start_ready();
            tokio::task::yield_now().await;
            while let Ok(message) = inbox.try_recv() {
                self.on(Some(message));
            }
            if self.now() >= until {
                return;
            }
        }
    }

    /// Waits until a read may return something, and there is room for it.
    async fn readable(&self) {
        let run = &self.worker.run;
        let clock = &run.core.base.clock;
        if !self.is_ordered() {
            run.slots.available().await;
        } else if self.is_full() {
            return match self.due_at {
                Some(due_at) => clock.sleep_until(due_at).await,
                None => std::future::pending().await,
            };
        }
        let look_at = self.due_at.map_or(self.look_at, |due_at| due_at.min(self.look_at));
        tokio::select! {
            () = clock.sleep_until(look_at) => {}
            () = self.worker.listener.grown(self.tail) => {}
        }
    }

    /// Makes the calls that are due.
    async fn step(&mut self, is_draining: bool) -> Result<(), End> {
        if !is_draining && self.is_busy() {
            self.settle_and_read().await?;
            self.start_ready();
            return Ok(());
        }
        if !self.settlements.is_empty() && self.settle_at <= self.now() {
            self.settle().await?;
        }
        if self.heartbeat_at <= self.now() {
            self.heartbeat().await?;
        }
        if self.ends.is_some_and(|ends| ends <= self.now()) && guard("stream_lease_ends_here") {
            return Err(End::Lost);
        }
        if is_draining {
            return Ok(());
        }
        self.start_ready();
        if self.must_read(self.now()) {
            if self.must_recover {
                self.must_recover = !self.take_over().await?;
            }
            if self.must_recover {
                let pause = REPEAT.delay(self.failures);
                self.look_again(Some(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)));
                return Ok(());
            }
            self.read().await?;
            self.start_ready();
        }
        Ok(())
    }

    fn must_read(&self, now: Moment) -> bool {
        self.look_at <= now || self.due_at.is_some_and(|due_at| due_at <= now)
    }

    /// Whether outcomes are to be recorded while more can be read, and nothing else has to come first.
    fn is_busy(&self) -> bool {
        let now = self.now();
        let settles = !self.settlements.is_empty() && self.settle_at <= now;
        let is_current = self.heartbeat_at > now && self.ends.is_none_or(|ends| ends > now);
        settles && is_current && !self.must_recover && self.must_read(now)
    }

    /// Whether the process holds as much of the partition as it may.
    pub(super) fn is_full(&self) -> bool {
        self.queues.held() >= self.worker.run.buffer || self.queues.bytes() >= BUFFER_BYTES_MAX
    }

    /// Whether the entries that wait here are leased, by this process's own clock. If they are not, because it was stopped or a reply took
    /// long, another consumer may have them.
    pub(super) fn is_leased(&self) -> bool {
        self.leased_until() > self.now()
    }

    fn leased_until(&self) -> Moment {
        self.ends.unwrap_or(self.leased_until)
    }

    /// Sends a heartbeat before entries are started whose lease has passed: its reply says which of them are still leased.
    fn confirm_leases(&mut self) {
        let until = self.leased_until();
        if self.queues.has_ready() && !self.is_leased() && self.confirmed != Some(until) {
            self.confirmed = Some(until);
            self.heartbeat_at = self.now();
        }
    }

    /// Starts entries whose turn it is, as far as there are slots.
    fn start_ready(&mut self) {
        while self.queues.has_ready() && self.is_leased() {
            let Some(slot) = self.worker.run.slots.take() else { return };
            let Some(delivered) = self.queues.next() else { return };
            self.start(delivered, slot);
        }
    }

    pub(super) fn start(&mut self, delivered: Delivered, slot: Slot) {
        let delivery = Delivery { id: delivered.id, count: delivered.count };
        let run = &self.worker.run;
        let cancellation = Cancellation::default();
        let is_parked = delivered.is_parked && run.settings.ordering.parks();
        let until = self.leased_until;
        let held = |delivered, task| Held {
            delivered,
            until,
            alone: false,
            was_alone: false,
            ended: false,
            cancellation: cancellation.clone(),
            task,
        };
        if is_parked {
            let outcome = dead("an earlier entry of its key is a dead letter", &run.settings);
            run.metrics.handled(&outcome);
            self.running.insert(delivery, held(delivered, None));
            self.end(delivery, Some(outcome));
            return;
        }
        let tokens = Tokens { session: self.number, fence: self.reader.fence, delivery };
        let task = attempt::start(&self.worker, tokens, delivered.clone(), slot, cancellation.clone());
        self.running.insert(delivery, held(delivered, Some(task)));
    }

    pub(super) fn on(&mut self, message: Option<Message>) {
        match message {
            Some(Message::Ended { session, delivery, outcome }) if session == self.number => {
                self.end(delivery, outcome);
            }
            Some(Message::Alone { session, delivery, alone, reply }) if session == self.number => {
                if let Some(held) = self.running.get_mut(&delivery) {
                    held.was_alone |= held.alone && !alone;
                    held.alone = alone;
                    self.reports.push((delivery, reply));
                    self.heartbeat_at = self.now();
                }
            }
            _ => {}
        }
    }

    /// An attempt has ended.
    fn end(&mut self, delivery: Delivery, outcome: Option<Outcome>) {
        let Some(held) = self.running.get_mut(&delivery).filter(|held| !held.ended) else { return };
        let delivered = held.delivered.clone();
        let Some(outcome) = outcome else {
            self.running.remove(&delivery);
            self.queues.ended(delivered, false);
            return;
        };
        held.ended = true;
        if matches!(outcome, Outcome::Dead { parks_key: true, .. }) {
            self.queues.park(&delivered.key);
        }
        let is_retried = matches!(outcome, Outcome::Retry { .. } | Outcome::Snooze { .. });
        self.queues.ended(delivered, is_retried);
        self.settlements.push(Settlement { delivery, outcome });
    }

    /// Forgets a delivery that is no longer current, and cancels its handler.
    pub(super) fn lose(&mut self, delivery: Delivery) {
        // One that has ended stays until the store has answered its settlement.
        if self.running.get(&delivery).is_none_or(|held| held.ended) {
            return;
        }
        let Some(held) = self.running.remove(&delivery) else { return };
        let run = &self.worker.run;
        run.metrics.leases_lost.increment(1);
        tracing::warn!(
            stream = %run.core.base.name, group = %run.group, id = %delivery.id, attempt = failures_of(&held.delivered) + 1,
            "a lease was lost while its handler ran; the handler is canceled, another consumer may run the entry"
        );
        self.queues.ended(held.delivered.clone(), false);
    }

    /// The time of the next read: when something is due, but at most about a second from now.
    pub(super) fn look_again(&mut self, next_in_ms: Option<u64>) {
        let now = self.now();
        let jitter = POLL_EVERY.mul_f64(0.75 + rand::random::<f64>() / 2.0);
        let next = next_in_ms.map(Duration::from_millis);
        self.due_at = next.map(|next| now + next);
        self.look_at = now + next.map_or(jitter, |next| next.min(jitter));
    }
}
