//! The state shared by the units of work of one [`Keel`](crate::Keel).

use super::database::Database;
use super::work::{Finisher, WakeUp, WorkMetrics};
use crate::sql::outbox::carry::Publisher;
use arc_swap::{ArcSwap, ArcSwapOption};
use evenkeel_link::clock::Clock;
use parking_lot::Mutex;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use tokio::sync::Notify;

/// The state shared by the units of work of one [`Keel`](crate::Keel).
#[derive(Default)]
pub(crate) struct Shared {
    /// The sink of the fast path; without one, messages are left to the relay.
    publisher: ArcSwapOption<Arc<dyn Publisher>>,
    /// Notified after every commit that left effects for a relay of this process.
    committed: Arc<Notify>,
    /// When relays of other processes are notified.
    wake_up: ArcSwap<WakeUp>,
    metrics: OnceLock<WorkMetrics>,
    /// One finisher per pool.
    finishers: Mutex<HashMap<(TypeId, usize), Arc<dyn Any + Send + Sync>>>,
}

impl Shared {
    /// Sets the sink of the fast path.
    pub(crate) fn set_publisher(&self, publisher: Arc<dyn Publisher>) {
        self.publisher.store(Some(Arc::new(publisher)));
    }

    pub(crate) fn publisher(&self) -> Option<Arc<dyn Publisher>> {
        self.publisher.load().as_ref().map(|publisher| Arc::clone(&**publisher))
    }

    /// Notified after every commit that left effects for a relay.
    pub(crate) fn committed(&self) -> &Arc<Notify> {
        &self.committed
    }

    /// Wakes the relays of this process, and those of other processes, after a commit that left effects.
    pub(crate) fn notify_relays<DB: Database>(&self, pool: &sqlx::Pool<DB>, clock: &Clock) {
        self.committed.notify_one();
        if self.wake_up() == WakeUp::AfterCommit {
            self.finisher(pool, clock).notify();
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
    pub(crate) async fn until_marked<DB: Database>(&self, pool: &sqlx::Pool<DB>, clock: &Clock) {
        self.finisher(pool, clock).until_idle().await;
    }

    /// The task that marks the rows of this pool's database as done.
    pub(crate) fn finisher<DB: Database>(&self, pool: &sqlx::Pool<DB>, clock: &Clock) -> Arc<Finisher<DB>> {
        // A pool has no name. It keeps its options as long as it lives, so their address identifies it.
        let place = Arc::as_ptr(&pool.connect_options()) as usize;
        let mut finishers = self.finishers.lock();
        let finisher = finishers
            .entry((TypeId::of::<DB>(), place))
            .or_insert_with(|| Arc::new(Finisher::<DB>::start(pool.clone(), clock.clone())));
        let known = Arc::clone(finisher).downcast::<Finisher<DB>>();
        known.unwrap_or_else(|_| Arc::new(Finisher::start(pool.clone(), clock.clone())))
    }
}
