//! One acquisition: from the local queue to a guard, or its cancellation.

use super::gate::{Gate, Turn};
use super::mode::{AcquireReply, Mode};
use super::terms::LockTerms;
use crate::lock::hold::guard::Guard;
use crate::lock::hold::lease::{Grant, Held, Lease, PendingRelease};
use crate::lock::hold::renewal;
use crate::lock::store::locks::Locks;
use bytes::Bytes;
use evenkeel_link::Token;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::{Backoff, guard, ms};
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::steps::{Acquire, HOLD_MS_MAX};
use evenkeel_protocol::lock::steps::{Call, WakeListener};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

/// The maximum number of attempts in a row that Redis does not answer.
const TRIES: u32 = 3;
const RETRY: Backoff = Backoff { delay_min: Duration::from_millis(200), delay_max: Duration::from_millis(200) };
/// The minimum time that the store has for its reply, even if the caller's waiting time is over.
const ANSWER: Duration = Duration::from_millis(500);
/// How long a caller that does not wait for the lock waits until the calls of others before it are answered.
const AHEAD: Duration = Duration::from_secs(5);
/// The longest wait without polling, because notifications can be lost.
const LOOK: Backoff = Backoff { delay_min: Duration::from_secs(1), delay_max: Duration::from_secs(1) };
/// After a notification for another process, this one polls after this delay.
const AFTER_ANOTHER: Backoff = Backoff { delay_min: Duration::from_millis(100), delay_max: Duration::from_millis(100) };

/// The lock that a caller requests, and how long it waits.
#[derive(Clone)]
pub(crate) struct LockRequest {
    pub(crate) name: LockName,
    pub(crate) mode: Mode,
    pub(crate) call: Acquire,
    pub(crate) wait: Wait,
}

impl LockRequest {
    /// Makes an acquisition with an owner of its own.
    pub(crate) fn new(
        locks: &Locks,
        name: &str,
        mode: Mode,
        terms: &LockTerms,
        fence_floor: u64,
    ) -> Result<Self, LockError> {
        if mode != Mode::Exclusive && !terms.lock_delay.is_zero() {
            return Err(LockError::Invalid(
                "a shared lock does not support a lock delay; use an exclusive lock".to_owned(),
            ));
        }
        let call = Acquire {
            owner: Token::random(),
            process: locks.process,
            lease_ms: ms(terms.lease()?),
            cooling_ms: ms(terms.lock_delay),
            hold_ms_max: terms.hold_max.map(|limit| ms(limit).clamp(1, HOLD_MS_MAX)),
            fence_floor,
            waits: terms.wait != Wait::No,
            metadata: Bytes::copy_from_slice(terms.metadata.as_bytes()),
        };
        // Checked before the local queue, so that an invalid call does not wait.
        if guard("lock_refuses_first") {
            locks.store.check_in(mode, &call)?;
        }
        Ok(Self { name: LockName::new(name)?, mode, call, wait: terms.wait })
    }
}

/// How long to wait for a taken lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    No,
    /// At most this long.
    UpTo(Duration),
    /// Until the lock is free.
    Forever,
}

impl From<Duration> for Wait {
    fn from(limit: Duration) -> Self {
        Self::UpTo(limit)
    }
}

/// Waits for the lock for at most the caller's waiting time.
pub(crate) async fn acquire(locks: &Locks, request: LockRequest) -> Result<Guard, LockError> {
    locks.reaper.start(&locks.store);
    locks.check_server();
    let began = locks.clock.now();
    let guard = contend(locks, request).await;
    let metrics = &locks.metrics;
    match &guard {
        Ok(_) => metrics.acquired.increment(1),
        Err(LockError::Busy { .. }) => metrics.busy.increment(1),
        Err(_) => metrics.failed.increment(1),
    }
    metrics.wait_seconds.record(locks.clock.now().since(began).as_secs_f64());
    guard
}

/// Acquires the lock if it is free now.
pub(crate) async fn at_once(locks: &Locks, mut request: LockRequest) -> Result<Option<Guard>, LockError> {
    (request.wait, request.call.waits) = (Wait::No, false);
    match acquire(locks, request).await {
        Ok(guard) => Ok(Some(guard)),
        Err(LockError::Busy { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn contend(locks: &Locks, request: LockRequest) -> Result<Guard, LockError> {
    let gate = locks.gates.gate(&request.name, request.mode);
    let began = locks.clock.now();
    let mut attempt = Attempt { locks: locks.clone(), request, began, turn: None, polls: false, is_sent: false };
    if let Some(guard) = attempt.ahead_of_the_queue(&gate).await? {
        return Ok(guard);
    }
    let turn = turn(locks, &gate, attempt.request.wait, attempt.left()).await;
    attempt.turn = Some(turn.ok_or_else(|| busy(&attempt.request.name, gate.free_in(locks.clock.now())))?);
    // With an existing listener of this process no notification is missed from here on.
    let mut is_armed = gate.listener.lock().await.is_some();
    loop {
        let free_in = match attempt.answered().await? {
            Outcome::Guard(guard) => return Ok(guard),
            Outcome::Taken { free_in } => {
                gate.free_at(locks.clock.now() + free_in);
                free_in
            }
            Outcome::Queued => {
                Some(gate.free_in(locks.clock.now())).filter(|left| !left.is_zero()).unwrap_or(LOOK.delay_max)
            }
        };
        let left = attempt.left();
        if left.is_zero() {
            return Err(busy(&attempt.request.name, free_in));
        }
        let mut listener = gate.listener.lock().await;
        if listener.is_none() {
            *listener = within(locks, left, pin!(attempt.listen())).await.flatten();
        }
        // Subscribe, then ask again, then wait: a release before the subscription sends no notification to this process.
        if !is_armed && guard("lock_arm_then_attempt") {
            is_armed = true;
            continue;
        }
        // Spread in time, so that the processes that wait do not poll together.
        let longest = if guard("lock_waiter_polls") { free_in.min(LOOK.delay(0)) } else { free_in }.min(left);
        let was_notified = match &mut *listener {
            Some(listener) => pause(locks, &mut **listener, attempt.waiter(), longest).await,
            None => {
                locks.clock.sleep(longest).await;
                false
            }
        };
        attempt.polls = !was_notified;
    }
}

/// The output of `future`, if it is ready within `limit`. The caller pins it, so that it is not moved.
async fn within<F: Future>(locks: &Locks, limit: Duration, future: Pin<&mut F>) -> Option<F::Output> {
    tokio::select! {
        biased;
        answer = future => Some(answer),
        () = locks.clock.sleep(limit) => None,
    }
}

/// Waits until the lock may be free; returns whether the waiter was notified.
async fn pause(locks: &Locks, listener: &mut dyn WakeListener, waiter: Token, longest: Duration) -> bool {
    let clock = &locks.clock;
    let latest = clock.now() + longest;
    let mut look = latest;
    loop {
        tokio::select! {
            call = listener.called(waiter) => match call {
                Call::You => return true,
                // The notified process goes first. If it has died or stopped waiting, no further notification follows, so poll after a
                // delay.
                Call::Another if guard("lock_look_after_another") => look = latest.min(clock.now() + AFTER_ANOTHER.delay(0)),
                Call::Another => {}
            },
            () = clock.sleep_until(look) => return false,
        }
    }
}

/// Waits for the turn among the tasks of this process, for at most the rest of the waiting time.
async fn turn(locks: &Locks, gate: &Arc<Gate>, wait: Wait, left: Duration) -> Option<Turn> {
    match wait {
        Wait::No => gate.turn_now(),
        Wait::UpTo(_) => locks.clock.timeout(left, gate.turn()).await.ok(),
        Wait::Forever => Some(gate.turn().await),
    }
}

fn busy(name: &LockName, free_in: Duration) -> LockError {
    LockError::Busy { name: name.to_string(), free_in }
}

/// An acquisition in progress. Dropping it releases in the background what may have reached the store.
struct Attempt {
    locks: Locks,
    request: LockRequest,
    began: Moment,
    /// Its turn among the tasks of this process; passed to the guard of an exclusive lock.
    turn: Option<Turn>,
    /// It has a place in the store's queue and was not notified.
    polls: bool,
    /// The store may have granted this attempt the lock, or a place in its queue.
    is_sent: bool,
}

enum Outcome {
    Guard(Guard),
    Taken {
        free_in: Duration,
    },
    /// It keeps its place in the store's queue.
    Queued,
}

impl Attempt {
    /// The first request for a shared lock, while no task of this process waits: many tasks can ask at once, though no more than Redis answers
    /// in time. It takes no place in the store's queue. `None`: the task must wait for its turn.
    async fn ahead_of_the_queue(&mut self, gate: &Gate) -> Result<Option<Guard>, LockError> {
        if !self.request.mode.is_shared() || !gate.is_idle() {
            return Ok(None);
        }
        let locks = self.locks.clone();
        let longest = if self.request.wait == Wait::No { AHEAD } else { self.left() };
        let asks = within(&locks, longest, pin!(locks.asks_ahead.acquire())).await;
        if asks.is_none() {
            return match self.request.wait {
                Wait::No => Err(locks.store.no_answer()),
                _ => Err(busy(&self.request.name, gate.free_in(locks.clock.now()))),
            };
        }
        // Meanwhile there may have been none left.
        if !gate.is_idle() {
            return Ok(None);
        }
        let waits = std::mem::replace(&mut self.request.call.waits, false);
        let asked = self.answered().await?;
        self.request.call.waits = waits;
        match asked {
            Outcome::Guard(guard) => Ok(Some(guard)),
            Outcome::Taken { free_in } if self.left().is_zero() => Err(busy(&self.request.name, free_in)),
            Outcome::Taken { .. } | Outcome::Queued => Ok(None),
        }
    }

    /// The rest of the waiting time.
    fn left(&self) -> Duration {
        match self.request.wait {
            Wait::No => Duration::ZERO,
            Wait::UpTo(limit) => limit.saturating_sub(self.waited()),
            Wait::Forever => Duration::MAX,
        }
    }

    fn waited(&self) -> Duration {
        self.locks.clock.now().since(self.began)
    }

    /// As whom the store notifies it.
    fn waiter(&self) -> Token {
        if self.request.mode.is_shared() { self.request.call.owner } else { self.locks.process }
    }

    /// Asks the store. The waiting time also limits the wait for a store that hangs.
    async fn answered(&mut self) -> Result<Outcome, LockError> {
        let is_bounded = matches!(self.request.wait, Wait::UpTo(_)) && guard("lock_wait_bounds_answers");
        let longest = if is_bounded { self.left().max(ANSWER) } else { Duration::MAX };
        let locks = self.locks.clone();
        let asked = within(&locks, longest, pin!(self.once())).await;
        asked.unwrap_or_else(|| Err(locks.store.no_answer()))
    }

    /// Asks the store, and repeats the call if it does not answer.
    async fn once(&mut self) -> Result<Outcome, LockError> {
        let mut failures = 0;
        loop {
            let in_doubt = self.is_sent;
            // Set before the call is sent, because dropping this future must release from then on.
            self.is_sent = true;
            let sent = self.locks.clock.now();
            let LockRequest { name, mode, call, .. } = &self.request;
            let error = match self.locks.store.ask(*mode, name, call, (self.waited(), self.polls)).await {
                Ok(AcquireReply::Granted { fence, signer, lease_left_ms }) => {
                    let length = Duration::from_millis(self.request.call.lease_ms);
                    let deadline = sent + Duration::from_millis(lease_left_ms);
                    // The reply took longer than the lease, which has expired.
                    if self.locks.clock.now() >= deadline && guard("lock_late_grant") {
                        self.locks.metrics.late.increment(1);
                        return Ok(Outcome::Taken { free_in: Duration::from_millis(1) });
                    }
                    return Ok(self.granted(&Grant { fence, signer, deadline, length }));
                }
                Ok(AcquireReply::Taken { free_in_ms }) => {
                    // An earlier unanswered attempt may still reach the store, and a place in the queue must be released.
                    let has_place = mode.is_shared() && call.waits && guard("lock_place_is_given_up");
                    self.is_sent = in_doubt || has_place;
                    return Ok(Outcome::Taken { free_in: Duration::from_millis(free_in_ms) });
                }
                Ok(AcquireReply::Queued) => return Ok(Outcome::Queued),
                Err(error) => error,
            };
            self.is_sent = in_doubt || error.outcome_unknown();
            failures += 1;
            if !error.is_retryable() || failures >= TRIES {
                return Err(error);
            }
            self.locks.clock.sleep(RETRY.delay(0)).await;
        }
    }

    /// Subscribes to notifications that the lock may be free.
    async fn listen(&self) -> Option<Box<dyn WakeListener>> {
        self.locks.store.listen_in(self.request.mode, &self.request.name).await.ok()
    }

    fn granted(&mut self, grant: &Grant) -> Outcome {
        // No await from here to the guard, so that the future cannot be dropped in between.
        let LockRequest { name, mode, call, .. } = &self.request;
        // Of a shared lock, the next task of this process asks while this one holds its share.
        let turn = self.turn.take().filter(|_| !mode.is_shared());
        if turn.is_none() && !mode.is_shared() {
            return Outcome::Taken { free_in: Duration::from_millis(1) };
        }
        self.is_sent = false;
        let held = Held { name: name.clone(), mode: *mode, owner: call.owner };
        let gate = turn.as_ref().map(|turn| Arc::clone(turn.gate()));
        let lease = Lease::new(self.locks.clone(), held, grant, turn);
        if let Some(gate) = gate {
            gate.held(&lease, Duration::from_millis(call.cooling_ms));
        }
        renewal::start(&lease);
        Outcome::Guard(Guard::new(Arc::clone(&lease)))
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if self.is_sent && guard("lock_cancelled_acquire") {
            let lease = Duration::from_millis(self.request.call.lease_ms);
            let LockRequest { name, mode, call, .. } = &self.request;
            let held = Held { name: name.clone(), mode: *mode, owner: call.owner };
            let until = self.locks.clock.now() + lease;
            // Of an exclusive lock, the next task of this process asks once the release was answered.
            let release = PendingRelease { held, until, turn: self.turn.take().filter(|_| !mode.is_shared()) };
            self.locks.reaper.hand_over(&self.locks, release);
        }
    }
}
