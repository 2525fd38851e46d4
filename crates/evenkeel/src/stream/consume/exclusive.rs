//! [`PerKeyExclusive`]: each entry is handled while a lock is held that is named by its key.

use super::attempt::{self, Tokens};
use super::entry::{HeldLock, failures_of};
use super::handled::{Reaction, delay_ms, outcome};
use super::partition::Worker;
use crate::handling::cancellation::Cancellation;
use crate::handling::panics::catch_panic_of_call;
use crate::lock::{ExclusiveLocks, LockError, LockTerms};
use evenkeel_link::support::guard;
use evenkeel_protocol::stream::steps::{Delivered, Outcome};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The longest `busy_delay`.
const BUSY_DELAY_MAX: Duration = Duration::from_secs(3_600);

type NameOf = dyn Fn(&[u8]) -> String + Send + Sync;

/// The locks of a group in which each entry is handled while a lock is held: for a resource outside the stream (an order, a product) that
/// other programs protect with the same lock. See [`Group::per_key_exclusive`](super::Group::per_key_exclusive).
#[derive(Clone)]
#[must_use = "locks do nothing until a group uses them"]
pub struct PerKeyExclusive {
    locks: Arc<dyn ExclusiveLocks>,
    name_of: Arc<NameOf>,
    terms: LockTerms,
    busy_delay: Duration,
}

impl PerKeyExclusive {
    /// Locks of `locks` (a [`Keel`](crate::Keel), or any other kind of lock), named by `name_of` the key of the entry. The name must be valid
    /// for that kind of lock: an entry whose name is not is retried, and becomes a dead letter in the end.
    pub fn new(
        locks: impl ExclusiveLocks + 'static,
        name_of: impl Fn(&[u8]) -> String + Send + Sync + 'static,
    ) -> Self {
        Self {
            locks: Arc::new(locks),
            name_of: Arc::new(name_of),
            terms: LockTerms::default(),
            busy_delay: Duration::from_millis(500),
        }
    }

    setters! {
        /// The lease of the locks, the longest time for which one is held, and so on. The wait is ignored: a handler never waits for a lock,
        /// because two that wait for each other's lock would extend their leases forever. Default: [`LockTerms::default`].
        pub fn terms(terms: LockTerms) => terms = terms;

        /// After what time an entry whose lock is taken is delivered again, with 25 % jitter. It uses no attempt. Default 500 ms; at most an hour.
        pub fn busy_delay(delay: Duration) => busy_delay = delay;
    }

    /// Rejects invalid settings, with one sentence.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        if self.busy_delay.is_zero() || self.busy_delay > BUSY_DELAY_MAX {
            return Err(
                "`busy_delay` must be above zero and at most an hour; an entry waits that long for a lock that is taken",
            );
        }
        Ok(())
    }

    fn pause(&self) -> Duration {
        self.busy_delay.mul_f64(0.75 + rand::random::<f64>() / 2.0)
    }

    /// Acquires the lock of a key if it is free; `None` if it is taken.
    async fn try_lock(&self, key: &[u8]) -> Result<Option<HeldLock>, LockError> {
        let name = catch_panic_of_call(|| (self.name_of)(key))
            .map_err(|panic| LockError::Invalid(format!("the function that names the lock panicked: {panic}")))?;
        Ok(self.locks.try_acquire(&name, &self.terms).await?.map(Arc::new))
    }
}

impl fmt::Debug for PerKeyExclusive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("PerKeyExclusive");
        shown.field("terms", &self.terms).field("busy_delay", &self.busy_delay).finish_non_exhaustive()
    }
}

/// Runs a delivery while its lock is held. A suspect has the lock before it waits for its turn to run alone, and asks for it until it is
/// free: an outcome without a run would make it an entry like any other, and its next crash would count for none.
pub(super) async fn perform<T: Send + Sync + 'static>(
    worker: &Worker<T>,
    tokens: Tokens,
    delivered: &Delivered,
    cancellation: Cancellation,
    locks: &PerKeyExclusive,
    is_suspect: bool,
) -> Option<Outcome> {
    let run = &worker.run;
    let _among_others = if is_suspect { None } else { Some(Arc::clone(&run.gate).read_owned().await) };
    let held = loop {
        let pause = locks.pause();
        match locks.try_lock(&delivered.key).await {
            Ok(Some(held)) => break held,
            Ok(None) => run.metrics.lock_busy.increment(1),
            Err(error) if error.is_retryable() => run.metrics.lock_failed(&error),
            Err(error) => {
                let answer = Err((Reaction::Retry, format!("the lock of the key could not be acquired: {error}")));
                return Some(outcome(answer, &run.settings, failures_of(delivered) + 1));
            }
        }
        if !is_suspect || !guard("stream_suspect_waits_for_lock") {
            return Some(Outcome::Snooze { delay_ms: delay_ms(pause) });
        }
        run.core.base.clock.sleep(pause).await;
    };
    let call = attempt::call(worker, tokens, delivered, cancellation.clone(), is_suspect, Some(Arc::clone(&held)));
    let handled = async { if is_suspect { attempt::alone(worker, tokens, call).await } else { Some(call.await) } };
    let result = if guard("stream_lock_lost_cancels") { held.run(handled).await } else { Ok(handled.await) };
    match result {
        Ok(outcome) => {
            // A handler that has kept its entry in another task keeps the lock, until that task drops the entry. After a timeout the signal
            // has fired: no await may follow, or `attempt::start` drops this future with its outcome. The drop of the guard releases the lock.
            let has_timed_out = cancellation.is_cancelled() && guard("stream_timeout_outcome_kept");
            if !has_timed_out
                && let Some(held) = Arc::into_inner(held)
                && let Err(error) = held.release().await
            {
                tracing::debug!(%error, "the lock of an entry could not be released; it ends with its lease");
            }
            outcome
        }
        Err(lost) => {
            run.metrics.locks_lost.increment(1);
            tracing::warn!(
                error = %lost,
                "the lock of an entry was lost while its handler ran; the handler is canceled, and the entry is delivered again"
            );
            // No await may follow: once the signal has fired, `attempt::start` drops this future.
            cancellation.fire();
            Some(Outcome::Snooze { delay_ms: delay_ms(locks.pause()) })
        }
    }
}
