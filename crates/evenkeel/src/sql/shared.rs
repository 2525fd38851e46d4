//! What the units of work of one keel share.

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

/// What the units of work of one keel share.
#[derive(Default)]
pub(crate) struct Shared {
    /// Where the messages of the fast path go; without one they are left to the relay.
    publisher: ArcSwapOption<Arc<dyn Publisher>>,
    /// Told after every commit that left something for a relay of this process.
    committed: Arc<Notify>,
    /// When relays of other processes are.
    wake_up: ArcSwap<WakeUp>,
    metrics: OnceLock<WorkMetrics>,
    /// One for each pool.
    finishers: Mutex<HashMap<(TypeId, usize), Arc<dyn Any + Send + Sync>>>,
}

impl Shared {
    /// The sink that the fast path uses from now on.
    pub(crate) fn set_publisher(&self, publisher: Arc<dyn Publisher>) {
        self.publisher.store(Some(Arc::new(publisher)));
    }

    pub(crate) fn publisher(&self) -> Option<Arc<dyn Publisher>> {
        self.publisher.load().as_ref().map(|publisher| Arc::clone(&**publisher))
    }

    /// Told after every commit that left something for a relay.
    pub(crate) fn committed(&self) -> &Arc<Notify> {
        &self.committed
    }

    /// A commit has left something: wakes a relay of this process, and those of others.
    pub(crate) fn left_something<DB: Database>(&self, pool: &sqlx::Pool<DB>, clock: &Clock) {
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

    /// Waits until the rows of all works whose effects were carried out in this process are marked as done.
    #[cfg(feature = "testing")]
    pub(crate) async fn until_marked<DB: Database>(&self, pool: &sqlx::Pool<DB>, clock: &Clock) {
        self.finisher(pool, clock).until_idle().await;
    }

    /// What marks the rows of this pool's database as done.
    pub(crate) fn finisher<DB: Database>(&self, pool: &sqlx::Pool<DB>, clock: &Clock) -> Arc<Finisher<DB>> {
        // A pool has no name; its options are kept for as long as it lives, so their place is one.
        let place = Arc::as_ptr(&pool.connect_options()) as usize;
        let mut finishers = self.finishers.lock();
        let finisher = finishers
            .entry((TypeId::of::<DB>(), place))
            .or_insert_with(|| Arc::new(Finisher::<DB>::start(pool.clone(), clock.clone())));
        let known = Arc::clone(finisher).downcast::<Finisher<DB>>();
        known.unwrap_or_else(|_| Arc::new(Finisher::start(pool.clone(), clock.clone())))
    }
}
