//! The state that units of work and relays share.

use super::database::Pool;
use super::work::{Finisher, WakeUp, WorkMetrics};
use crate::context::Context;
use crate::process::reporter::Reporter;
use crate::sql::sink::Sinks;
use crate::stores::Stores;
use arc_swap::{ArcSwap, ArcSwapOption};
use evenkeel_link::Link;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::TOGETHER_MAX;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use tokio::sync::Notify;

/// The state that the units of work and the relays of one keel share.
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    pub(crate) reporter: Arc<Reporter>,
    /// `None`: caches and queues are in the memory of this process.
    link: Option<Link>,
    /// Where effects go, apart from sinks.
    #[cfg_attr(
        not(any(feature = "cache", feature = "queue", feature = "stream")),
        expect(dead_code, reason = "without them it is empty")
    )]
    pub(crate) destinations: Stores,
    /// The sinks of the fast path; without them, messages are left to the relay.
    sinks: ArcSwapOption<Sinks>,
    /// Notified after every commit that left effects for a relay of this process.
    committed: Arc<Notify>,
    /// When relays of other processes are notified.
    wake_up: ArcSwap<WakeUp>,
    metrics: OnceLock<WorkMetrics>,
    /// One finisher per pool.
    finishers: Mutex<HashMap<usize, Arc<Finisher>>>,
}

impl Shared {
    pub(crate) fn new(context: &Context, destinations: Stores) -> Self {
        Self {
            clock: context.clock.clone(),
            reporter: Arc::clone(&context.reporter),
            link: context.link.clone(),
            destinations,
            sinks: ArcSwapOption::empty(),
            committed: Arc::default(),
            wake_up: ArcSwap::default(),
            metrics: OnceLock::new(),
            finishers: Mutex::default(),
        }
    }

    /// The number of the present connection to Redis; `None` while there is none.
    pub(crate) fn link_epoch(&self) -> Option<u64> {
        Some(self.link.as_ref()?.epoch()?.number())
    }

    /// How many commands may be in flight on one connection to Redis.
    pub(crate) fn in_flight_max(&self) -> usize {
        self.link.as_ref().map_or(usize::MAX, Link::in_flight_max)
    }

    /// How many steps of a batch run at once.
    pub(crate) fn together_max(&self) -> usize {
        self.link.as_ref().map_or(TOGETHER_MAX, Link::together_max)
    }

    /// Sets the sinks of the fast path.
    pub(crate) fn set_sinks(&self, sinks: &Sinks) {
        self.sinks.store(Some(Arc::new(sinks.clone())));
    }

    pub(crate) fn sinks(&self) -> Option<Arc<Sinks>> {
        self.sinks.load_full()
    }

    /// Notified after every commit that left effects for a relay.
    pub(crate) fn committed(&self) -> &Arc<Notify> {
        &self.committed
    }

    /// Wakes the relays of this process, and those of other processes, after a commit that left effects.
    pub(crate) fn notify_relays(&self, pool: &Pool) {
        self.committed.notify_one();
        if self.wake_up() == WakeUp::AfterCommit {
            self.finisher(pool).notify();
        }
    }

    pub(crate) fn wake_up(&self) -> WakeUp {
        **self.wake_up.load()
    }

    pub(crate) fn set_wake_up(&self, wake_up: WakeUp) {
        self.wake_up.store(Arc::new(wake_up));
    }

    pub(crate) fn metrics(&self) -> &WorkMetrics {
        self.metrics.get_or_init(WorkMetrics::register)
    }

    /// Waits until the rows of all units of work whose effects were carried out in this process are marked as done.
    #[cfg(feature = "testing")]
    pub(crate) async fn until_marked(&self, pool: &Pool) {
        self.finisher(pool).until_idle().await;
    }

    /// The task that marks the rows of this pool's database as done.
    pub(crate) fn finisher(&self, pool: &Pool) -> Arc<Finisher> {
        let mut finishers = self.finishers.lock();
        let start = || Arc::new(Finisher::start(pool.clone(), self.clock.clone()));
        Arc::clone(finishers.entry(pool.place()).or_insert_with(start))
    }
}
