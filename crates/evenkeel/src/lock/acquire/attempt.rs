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
use evenkeel_link::support::{Backoff, guard, ms};
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::steps::{Acquire, HOLD_MS_MAX, check_spans};
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
/// The longest wait without polling, because notifications can be lost.
const LOOK: Duration = Duration::from_secs(1);
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
        check_spans(terms.ttl, terms.hold_max)?;
        let call = Acquire {
            owner: Token::random(),
            process: locks.process,
            lease_ms: ms(terms.ttl),
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
    let began = locks.clock.now();
    let gate = request.mode.queues_here().then(|| locks.gates.gate(&request.name));
    let turn = match &gate {
        Some(gate) => {
            let turn = turn(locks, gate, request.wait).await;
            Some(turn.ok_or_else(|| busy(&request.name, gate.free_in(locks.clock.now())))?)
        }
        None => None,
    };
    let wait = request.wait;
    let mut attempt = Attempt { locks: locks.clone(), request, turn, is_sent: false };
    // An attempt that waits in the server's queue has a listener of its own.
    let own_listener = tokio::sync::Mutex::<Option<Box<dyn WakeListener>>>::default();
    let listener = gate.as_ref().map_or(&own_listener, |gate| &gate.listener);
    // With an existing listener of this process no notification is missed from here on.
    let mut is_armed = listener.lock().await.is_some();
    let left = || match wait {
        Wait::No => Duration::ZERO,
        Wait::UpTo(limit) => limit.saturating_sub(locks.clock.now().since(began)),
        Wait::Forever => Duration::MAX,
    };
    loop {
        // The waiting time also limits the wait for a store that hangs.
        let is_bounded = matches!(wait, Wait::UpTo(_)) && guard("lock_wait_bounds_answers");
        let longest = if is_bounded { left().max(ANSWER) } else { Duration::MAX };
        let asked = within(locks, longest, pin!(attempt.once())).await;
        let free_in = match asked.unwrap_or_else(|| Err(locks.store.no_answer()))? {
            Outcome::Guard(guard) => return Ok(guard),
            Outcome::Taken { free_in } => free_in,
        };
        if let Some(gate) = &gate {
            gate.free_at(locks.clock.now() + free_in);
        }
        let left = left();
        if left.is_zero() {
            return Err(busy(&attempt.request.name, free_in));
        }
        let mut listener = listener.lock().await;
        if listener.is_none() {
            *listener = within(locks, left, pin!(attempt.listen())).await.flatten();
        }
        // Subscribe, then ask again, then wait: a release before the subscription sends no notification to this process.
        if !is_armed && guard("lock_arm_then_attempt") {
            is_armed = true;
            continue;
        }
        let longest = if guard("lock_waiter_polls") { free_in.min(LOOK) } else { free_in }.min(left);
        match &mut *listener {
            Some(listener) => pause(locks, &mut **listener, longest).await,
            None => locks.clock.sleep(longest).await,
        }
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

/// Waits until the lock may be free.
async fn pause(locks: &Locks, listener: &mut dyn WakeListener, longest: Duration) {
    let clock = &locks.clock;
    let latest = clock.now() + longest;
    let mut look = latest;
    loop {
        tokio::select! {
            call = listener.called(locks.process) => match call {
                Call::You => return,
                // The notified process goes first. If it has died or stopped waiting, no further notification follows, so poll after a
                // delay.
                Call::Another if guard("lock_look_after_another") => look = latest.min(clock.now() + AFTER_ANOTHER.delay(0)),
                Call::Another => {}
            },
            () = clock.sleep_until(look) => return,
        }
    }
}

/// Waits for the turn among the tasks of this process, for at most the waiting time.
async fn turn(locks: &Locks, gate: &Arc<Gate>, wait: Wait) -> Option<Turn> {
    match wait {
        Wait::No => gate.turn_now(),
        Wait::UpTo(limit) => locks.clock.timeout(limit, gate.turn()).await.ok(),
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
    /// Its turn among the tasks of this process, if they queue locally; passed to the guard.
    turn: Option<Turn>,
    /// The store may have granted this attempt the lock, or a place in its queue.
    is_sent: bool,
}

enum Outcome {
    Guard(Guard),
    Taken { free_in: Duration },
}

impl Attempt {
    /// Asks the store, and repeats the call if it does not answer.
    async fn once(&mut self) -> Result<Outcome, LockError> {
        let mut failures = 0;
        loop {
            let in_doubt = self.is_sent;
            // Set before the call is sent, because dropping this future must release from then on.
            self.is_sent = true;
            let sent = self.locks.clock.now();
            let LockRequest { name, mode, call, .. } = &self.request;
            let error = match self.locks.store.ask(*mode, name, call).await {
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
                    let has_place = !mode.queues_here() && call.waits && guard("lock_place_is_given_up");
                    self.is_sent = in_doubt || has_place;
                    return Ok(Outcome::Taken { free_in: Duration::from_millis(free_in_ms) });
                }
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
        let LockRequest { name, mode, call, .. } = &self.request;
        self.locks.store.listen_in(*mode, name, call.owner).await.ok()
    }

    fn granted(&mut self, grant: &Grant) -> Outcome {
        // No await from here to the guard, so that the future cannot be dropped in between.
        let LockRequest { name, mode, call, .. } = &self.request;
        let turn = self.turn.take();
        if turn.is_none() && mode.queues_here() {
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
            let held =
                Held { name: self.request.name.clone(), mode: self.request.mode, owner: self.request.call.owner };
            let release = PendingRelease { held, until: self.locks.clock.now() + lease, turn: self.turn.take() };
            self.locks.reaper.hand_over(&self.locks, release);
        }
    }
}
