//! The circuit breaker of reads: after a few consecutive failures it opens for a moment, so that a silent Redis costs a few
//! readers their time-out and not all of them. Then one reader probes the store, and the others follow after its reply.
//!
//! Invalidations do not use the breaker: they must be applied whatever the state of the store is.

use crate::cache::metrics::CacheMetrics;
use evenkeel_link::LinkError;
use evenkeel_link::clock::{Clock, Moment};
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::error::CacheError;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// Error codes of an unavailable server; they say nothing about the command.
const UNAVAILABLE: [&str; 4] = ["LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN"];

const CLOSED: u32 = 0;
const HALF_OPEN: u32 = 1;
const OPEN: u32 = 2;
const STATES: u32 = 4;

/// The breaker of one cache.
pub(crate) struct Breaker {
    /// The state in the low bits, and above it a number that increases with every change of state, so that a request that began
    /// before the change does not affect the state after it.
    word: AtomicU32,
    failures: AtomicU32,
    failures_max: u32,
    pause: Duration,
    opened: Mutex<Opened>,
    clock: Clock,
    metrics: Arc<CacheMetrics>,
}

/// Used only while the breaker is not closed.
#[derive(Clone, Copy, Debug, Default)]
struct Opened {
    until: Option<Moment>,
    /// A new epoch of the link is a new connection, possibly to another server.
    epoch: Option<u64>,
}

/// One request to the store.
pub(crate) struct Attempt<'a> {
    breaker: &'a Breaker,
    word: u32,
}

impl Breaker {
    pub(crate) fn new(failures_max: u32, pause: Duration, clock: Clock, metrics: Arc<CacheMetrics>) -> Self {
        metrics.breaker_state.set(0.0);
        Self {
            word: AtomicU32::new(CLOSED),
            failures: AtomicU32::new(0),
            failures_max,
            pause,
            opened: Mutex::default(),
            clock,
            metrics,
        }
    }

    /// Admits or rejects a request. For a hit on a healthy store this is one load of a word that is almost never written.
    pub(crate) fn enter(&self, epoch: impl FnOnce() -> Option<u64>) -> Option<Attempt<'_>> {
        let word = self.word.load(Relaxed);
        if word % STATES == CLOSED {
            return Some(Attempt { breaker: self, word });
        }
        self.enter_not_closed(epoch())
    }

    fn enter_not_closed(&self, epoch: Option<u64>) -> Option<Attempt<'_>> {
        let mut opened = self.opened.lock();
        let word = self.word.load(Relaxed);
        match word % STATES {
            CLOSED => Some(Attempt { breaker: self, word }),
            _ if epoch.is_some() && epoch != opened.epoch && guard("breaker_epoch") => {
                let word = self.close(&mut opened);
                Some(Attempt { breaker: self, word })
            }
            OPEN if opened.until.is_none_or(|until| self.clock.now() >= until) => {
                opened.epoch = epoch;
                let word = self.set_state(HALF_OPEN);
                Some(Attempt { breaker: self, word })
            }
            HALF_OPEN if !guard("breaker_one_probe") => Some(Attempt { breaker: self, word }),
            _ => None,
        }
    }

    /// The store replied.
    fn alive(&self) {
        let mut opened = self.opened.lock();
        self.failures.store(0, Relaxed);
        if self.word.load(Relaxed) % STATES != CLOSED {
            self.close(&mut opened);
            tracing::info!("the store replies again; the circuit breaker is closed");
        }
    }

    fn failed(&self, word: u32, epoch: Option<u64>) {
        let mut opened = self.opened.lock();
        // A request that began before the last change reflects the earlier state of the store.
        if self.word.load(Relaxed) != word {
            return;
        }
        let failures = self.failures.fetch_add(1, Relaxed) + 1;
        let is_probe = word % STATES == HALF_OPEN;
        if (is_probe || failures >= self.failures_max) && guard("breaker_opens") {
            *opened = Opened { until: Some(self.clock.now() + self.pause), epoch };
            if !is_probe {
                self.metrics.breaker_opens.increment(1);
                tracing::warn!(failures, "the store does not reply; the circuit breaker is open");
            }
            self.set_state(OPEN);
        }
    }

    /// A probe that was dropped or could not be sent had no result: the next reader may probe at once.
    fn undecided(&self, word: u32) {
        let mut opened = self.opened.lock();
        if self.word.load(Relaxed) == word {
            opened.until = None;
            self.set_state(OPEN);
        }
    }

    fn close(&self, opened: &mut Opened) -> u32 {
        *opened = Opened::default();
        self.failures.store(0, Relaxed);
        self.set_state(CLOSED)
    }

    /// Changes the state. The caller holds the lock.
    fn set_state(&self, state: u32) -> u32 {
        let word = (self.word.load(Relaxed) / STATES).wrapping_add(1).wrapping_mul(STATES) + state;
        self.word.store(word, Relaxed);
        self.metrics.breaker_state.set(f64::from(state));
        word
    }
}

impl Attempt<'_> {
    /// Records the result of the request.
    pub(crate) fn record<T>(self, answer: &Result<T, CacheError>, epoch: impl FnOnce() -> Option<u64>) {
        match answer {
            // The link notices a broken connection and rejects calls until it has reconnected, so no reader waits.
            Err(CacheError::Link(error)) if error.is_broken() => {}
            Err(CacheError::Link(LinkError::NoAnswer { .. })) => self.breaker.failed(self.word, epoch()),
            Err(CacheError::Link(LinkError::Refused { code, .. })) if UNAVAILABLE.contains(&code.as_str()) => {
                self.breaker.failed(self.word, epoch());
            }
            // Nothing was sent, so the error says nothing about the store; such errors return at once.
            Err(CacheError::Link(
                LinkError::Down { .. } | LinkError::EpochOver | LinkError::RuntimeEnded | LinkError::Busy { .. },
            )) => {}
            // A reply, or an error reply of a healthy server.
            _ => self.alive(),
        }
    }

    fn alive(&self) {
        // Reading first keeps the cache line shared: the count is almost always zero.
        if self.breaker.failures.load(Relaxed) != 0 || self.word % STATES != CLOSED {
            self.breaker.alive();
        }
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if self.word % STATES == HALF_OPEN {
            self.breaker.undecided(self.word);
        }
    }
}
