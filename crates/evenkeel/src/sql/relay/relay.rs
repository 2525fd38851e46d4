//! [`Relay`]: the loops that carry out what the outbox holds.

use super::core::{Core, Looked};
use super::metrics::Lane;
use super::ordered::Ordered;
use super::retention;
use super::settings::AWAY;
use super::works::Works;
use crate::sql::database::Database;
use crate::sql::error::SqlError;
use evenkeel_link::support::Background;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc, watch};

/// Between two looks of the housekeeping.
const HOUSEKEEPING: Duration = Duration::from_secs(10);

/// Carries out what the outbox of one database holds. Cheap to clone; clones share their state.
///
/// Guarantee (U3): no committed row is passed over, in whatever order transactions commit and ids were drawn. Works are claimed
/// one by one; messages of a key are sent in the order of their sequences, each after the one before it was confirmed. (U4) What
/// cannot be carried out is parked after [`attempts_max`](super::RelayBuilder::attempts_max) failures, and holds up its own key
/// only.
///
/// Not guaranteed: that an effect happens once. A relay that dies, or sleeps longer than its claim, is repeated by another one;
/// every effect is made to be repeated, and sinks are told how to know a copy.
pub struct Relay<DB: Database>(Arc<Inner<DB>>);

struct Inner<DB: Database> {
    core: Core<DB>,
    works: Mutex<Works>,
    ordered: Mutex<Ordered>,
    /// How often this relay was told that something may wait.
    told: watch::Sender<u64>,
    /// Of each lane, how often it had been told before the look that found nothing, if it pauses.
    paused: watch::Sender<[Option<u64>; 2]>,
}

impl<DB: Database> Clone for Relay<DB> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<DB: Database> Relay<DB> {
    pub(super) fn new(core: Core<DB>) -> Self {
        let (works, ordered) = (Mutex::default(), Mutex::default());
        let (told, paused) = (watch::Sender::new(0), watch::Sender::new([None; 2]));
        Self(Arc::new(Inner { core, works, ordered, told, paused }))
    }

    /// Carries out what there is until `shutdown` is ready; then what is under way is finished, for at most
    /// [`deadline`](super::RelayBuilder::deadline) a step, and nothing stays claimed. A loop that panics (in a sink of the
    /// program's own, say) is started again.
    ///
    /// Outages of the database, of Redis and of sinks are sat out.
    pub fn run(&self, shutdown: impl Future<Output = ()> + Send) -> impl Future<Output = ()> + Send {
        self.clone().run_until(shutdown)
    }

    async fn run_until(self, shutdown: impl Future<Output = ()> + Send) {
        let (stop, stopped) = watch::channel(false);
        // Closed when the last loop has ended.
        let (alive, mut ended) = mpsc::channel::<()>(1);
        let lanes = [Lane::Works, Lane::Keys].map(|lane| {
            let (relay, stopped, alive) = (self.clone(), stopped.clone(), alive.clone());
            Background::spawn("outbox relay", self.0.core.clock().clone(), move || {
                // Held by the loop, so that its end can be seen.
                let alive = alive.clone();
                let run = relay.clone().keep_looking(lane, stopped.clone());
                async move {
                    run.await;
                    drop(alive);
                }
            })
        });
        let relay = self.clone();
        let house =
            Background::spawn("outbox housekeeping", self.0.core.clock().clone(), move || relay.clone().keep_house());
        let relay = self.clone();
        let ear = Background::spawn("outbox ear", self.0.core.clock().clone(), move || relay.clone().keep_listening());
        let relay = self.clone();
        let far_ear = Background::spawn("outbox far ear", self.0.core.clock().clone(), move || {
            relay.clone().keep_listening_far()
        });
        drop(alive);
        shutdown.await;
        drop((house, ear, far_ear));
        stop.send_replace(true);
        let _ = ended.recv().await;
        drop(lanes);
    }

    /// Looks once: claims a batch of works and some keys, carries them out, and says what came of it. For tests, and for programs
    /// that have a loop of their own, which pauses for [`Looked::next`] when a look [was idle](Looked::is_idle).
    ///
    /// # Errors
    /// [`SqlError`] of the database. What was done, and what was claimed in vain, is written down by the next look; if none comes,
    /// it is claimed again after its lease.
    // Said to be `Send` here, where it can be shown for every database; a caller's compiler could not.
    pub fn run_once(&self) -> impl Future<Output = Result<Looked, SqlError>> + Send {
        self.clone().look_at_both()
    }

    async fn look_at_both(self) -> Result<Looked, SqlError> {
        let works = self.look(Lane::Works).await?;
        Ok(works.and(self.look(Lane::Keys).await?))
    }

    /// Deletes up to some thousand rows that have been done for longer than the retention, as [`run`](Self::run) does every ten
    /// seconds. Answers how many.
    ///
    /// # Errors
    /// [`SqlError`] of the database; what was deleted stays deleted.
    pub fn tidy_once(&self) -> impl Future<Output = Result<u64, SqlError>> + Send {
        retention::run_once(&self.0.core)
    }

    async fn look(&self, lane: Lane) -> Result<Looked, SqlError> {
        let core = &self.0.core;
        // Boxed, so that whoever awaits a look does not carry the room that its statements need.
        let looked = match lane {
            Lane::Works => Box::pin(self.0.works.lock().await.run_once(core)).await,
            Lane::Keys => Box::pin(self.0.ordered.lock().await.run_once(core)).await,
        };
        match &looked {
            Ok(_) => core.metrics.success(core.clock().unix_ms()),
            Err(error) => {
                core.metrics.call_failed(lane.name());
                tracing::warn!(lane = lane.name(), %error, "the relay could not look at the outbox");
            }
        }
        looked
    }

    async fn keep_looking(self, lane: Lane, mut stopped: watch::Receiver<bool>) {
        let core = &self.0.core;
        let mut told = self.0.told.subscribe();
        let (mut idle, mut failures) = (0_u32, 0_u32);
        while !*stopped.borrow_and_update() {
            // Whoever tells from now on is not heard too early: what is told of is committed already.
            let heard = *told.borrow_and_update();
            let looked = self.look(lane).await;
            let pause = match &looked {
                Ok(looked) if looked.is_idle() => {
                    (idle, failures) = (idle.saturating_add(1), 0);
                    core.settings.poll.delay(idle - 1).min(looked.next)
                }
                Ok(_) => {
                    (idle, failures) = (0, 0);
                    continue;
                }
                Err(_) => {
                    // What it was told of may still be there: it looks again soon, and not when the poll would be due.
                    (idle, failures) = (0, failures.saturating_add(1));
                    AWAY.delay(failures - 1)
                }
            };
            self.0.paused.send_modify(|paused| paused[lane as usize] = looked.is_ok().then_some(heard));
            tokio::select! {
                _ = stopped.changed() => {}
                _ = told.changed() => idle = 0,
                () = core.clock().sleep(pause.max(Duration::from_millis(1))) => {}
            }
            self.0.paused.send_modify(|paused| paused[lane as usize] = None);
        }
    }

    /// Waits until both lanes pause that have been told so often, with nothing to do and nothing that failed.
    #[cfg(feature = "testing")]
    pub async fn until_paused(&self, told: u64) {
        let is_paused = |paused: &[Option<u64>; 2]| paused.iter().all(|heard| *heard >= Some(told));
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.0.paused.subscribe().wait_for(is_paused).await;
    }

    /// Commits of this process that have left something.
    async fn keep_listening(self) {
        let committed = Arc::clone(self.0.core.keel.sql().committed());
        loop {
            committed.notified().await;
            self.0.told.send_modify(|times| *times += 1);
        }
    }

    /// Commits of other processes, where the database tells.
    async fn keep_listening_far(self) {
        let core = &self.0.core;
        let mut failures = 0_u32;
        let heard = || {
            core.metrics.heard.increment(1);
            self.0.told.send_modify(|times| *times += 1);
        };
        // It only ends by itself where there is nothing to listen to.
        while let Err(error) = DB::listen(&core.pool, &heard).await {
            core.metrics.call_failed("listen");
            tracing::debug!(%error, "the relay does not hear commits of other processes now; it looks by itself");
            failures = failures.saturating_add(1);
            core.clock().sleep(AWAY.delay(failures)).await;
        }
    }

    async fn keep_house(self) {
        let core = &self.0.core;
        loop {
            if let Err(error) = retention::run_once(core).await {
                core.metrics.call_failed("retention");
                tracing::warn!(%error, "rows of the outbox that are done could not be deleted");
            }
            if let Err(error) = retention::measure(core).await {
                core.metrics.call_failed("measure");
                tracing::debug!(%error, "the outbox could not be measured");
            }
            core.clock().sleep(HOUSEKEEPING).await;
        }
    }
}
