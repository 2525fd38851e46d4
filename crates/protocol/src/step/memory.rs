//! [`Memory`]: the models of a capability behind a mutex. It is the embedded backend, an executable specification, and the oracle with which
//! the scripts are compared.

use super::{Place, Step};
use evenkeel_link::clock::Clock;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use tokio::sync::watch;

/// The embedded backend: what it has is within this process only. Cheap to clone; clones share it.
///
/// Guarantee: the same replies as Redis. Not guaranteed: anything after the process ends.
#[derive(Clone)]
pub struct Memory<P: Place>(Arc<Inner<P>>);

struct Inner<P: Place> {
    states: Mutex<P::States>,
    clock: Clock,
    /// Counts changes that others may wait for.
    changes: watch::Sender<u64>,
}

impl<P: Place> Memory<P> {
    /// An empty backend. Its server time is the clock's wall clock.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self::with(P::States::default(), clock)
    }

    pub(crate) fn with(states: P::States, clock: Clock) -> Self {
        Self(Arc::new(Inner { states: Mutex::new(states), clock, changes: watch::Sender::new(0) }))
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Runs one step, without a check of its limits. A step calls no foreign code, so the mutex is held for the step only.
    ///
    /// # Errors
    /// As the script.
    pub fn run<S: Step<P>>(&self, place: &P, step: &S) -> Result<S::Reply, P::Error> {
        let (mut states, now) = self.lock();
        let state = place.open(&mut states, now);
        let reply = step.apply(state, now);
        self.unlock(P::wakes(state), place, states);
        reply
    }

    fn lock(&self) -> (MutexGuard<'_, P::States>, u64) {
        let now = self.0.clock.unix_ms();
        (self.0.states.lock(), now)
    }

    fn unlock(&self, wakes: bool, place: &P, mut states: MutexGuard<'_, P::States>) {
        place.close(&mut states);
        drop(states);
        if wakes {
            self.0.changes.send_modify(|count| *count += 1);
        }
    }

    pub(super) async fn until<S: Step<P>>(&self, place: &P, step: &S, is_awaited: impl Fn(S::Reply) -> bool) {
        let mut changes = self.changes();
        while !self.run(place, step).is_ok_and(&is_awaited) {
            // The sender cannot be dropped: `self` has it.
            let _ = changes.changed().await;
        }
    }

    /// The number of changes that others may wait for.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// All models, and the present time.
    pub fn look<T>(&self, look: impl FnOnce(&P::States, u64) -> T) -> T {
        let (states, now) = self.lock();
        look(&states, now)
    }
}
