//! The tasks of a relay, compiled once for all databases.

use super::core::{Core, PassReport};
use super::intake::Intake;
use super::metrics::Worker;
use super::ordered::Ordered;
use super::retention;
use super::settings::UNAVAILABLE;
use super::shown::Shown;
use super::units::Units;
use crate::sql::error::SqlError;
use evenkeel_link::support::Background;
use futures_util::future::BoxFuture;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc, watch};

/// The interval of the housekeeping.
const HOUSEKEEPING: Duration = Duration::from_secs(10);

/// A [`Relay`](super::Relay) without the type of its database. Cheap to clone; clones share their state.
#[derive(Clone)]
pub(super) struct Runner(Arc<Inner>);

struct Inner {
    core: Core,
    intake: Mutex<Intake>,
    units: Mutex<Units>,
    ordered: Mutex<Ordered>,
    /// How often this relay was notified of new effects.
    wakeups: watch::Sender<u64>,
    /// For each worker that pauses, the number of notifications before the pass that found nothing.
    paused: watch::Sender<[Option<u64>; 2]>,
}

impl Runner {
    pub(super) fn new(core: Core) -> Self {
        let (intake, units, ordered) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (wakeups, paused) = (watch::Sender::new(0), watch::Sender::new([None; 2]));
        Self(Arc::new(Inner { core, intake, units, ordered, wakeups, paused }))
    }

    pub(super) fn core(&self) -> &Core {
        &self.0.core
    }

    /// As [`Relay::run`](super::Relay::run).
    pub(super) fn run(self, shutdown: BoxFuture<'_, ()>) -> BoxFuture<'_, ()> {
        Box::pin(self.run_until(shutdown))
    }

    async fn run_until(self, shutdown: impl Future<Output = ()> + Send) {
        let (stop, stopped) = watch::channel(false);
        // Closed when the last worker has ended.
        let (alive, mut ended) = mpsc::channel::<()>(1);
        let workers = [Worker::Units, Worker::Keys].map(|worker| {
            let (relay, stopped, alive) = (self.clone(), stopped.clone(), alive.clone());
            Background::spawn("outbox relay", self.0.core.clock().clone(), move || {
                // Held by the worker, so that its end can be detected.
                let alive = alive.clone();
                let run = relay.clone().poll_until_stopped(worker, stopped.clone());
                async move {
                    run.await;
                    drop(alive);
                }
            })
        });
        let relay = self.clone();
        let housekeeping = Background::spawn("outbox housekeeping", self.0.core.clock().clone(), move || {
            relay.clone().run_housekeeping()
        });
        let relay = self.clone();
        let local_listener = Background::spawn("outbox local listener", self.0.core.clock().clone(), move || {
            relay.clone().forward_local_commits()
        });
        let relay = self.clone();
        let remote_listener = Background::spawn("outbox remote listener", self.0.core.clock().clone(), move || {
            relay.clone().forward_remote_commits()
        });
        drop(alive);
        let shown = Arc::new(Shown(self.clone()));
        self.0.core.shared.reporter.add(&shown);
        shutdown.await;
        drop((housekeeping, local_listener, remote_listener));
        stop.send_replace(true);
        let _ = ended.recv().await;
        drop((workers, shown));
    }

    /// As [`Relay::run_once`](super::Relay::run_once).
    pub(super) fn run_once(self) -> BoxFuture<'static, Result<PassReport, SqlError>> {
        Box::pin(self.pass_both())
    }

    async fn pass_both(self) -> Result<PassReport, SqlError> {
        // A failure of one does not stop the other.
        let (units, keys) = (self.pass(Worker::Units).await, self.pass(Worker::Keys).await);
        Ok(units?.and(keys?))
    }

    /// As [`Relay::tidy_once`](super::Relay::tidy_once).
    pub(super) fn tidy_once(&self) -> BoxFuture<'_, Result<u64, SqlError>> {
        Box::pin(retention::run_once(&self.0.core))
    }

    async fn pass(&self, worker: Worker) -> Result<PassReport, SqlError> {
        let core = &self.0.core;
        // Boxed, to keep the future of the caller small.
        let report = match (core.check_settings().await, worker) {
            (Err(error), _) => Err(error),
            (Ok(()), Worker::Units) => {
                let moved = Box::pin(self.0.intake.lock().await.run_once(core)).await;
                Box::pin(self.0.units.lock().await.run_once(core)).await.map(|report| report.and(moved))
            }
            (Ok(()), Worker::Keys) => Box::pin(self.0.ordered.lock().await.run_once(core)).await,
        };
        core.failing.log(worker.name(), &report, |error, times| {
            tracing::warn!(worker = worker.name(), %error, times, "the relay could not process the outbox; it retries");
        });
        if report.is_ok() {
            core.metrics.success(core.clock().unix_ms());
            *core.passed.lock() = Some(core.clock().now());
        } else {
            core.metrics.call_failed(worker.name());
        }
        report
    }

    async fn poll_until_stopped(self, worker: Worker, mut stopped: watch::Receiver<bool>) {
        let core = &self.0.core;
        let mut wakeups = self.0.wakeups.subscribe();
        let (mut idle, mut failures) = (0_u32, 0_u32);
        while !*stopped.borrow_and_update() {
            // Notifications received after this point concern committed rows.
            let seen = *wakeups.borrow_and_update();
            let report = self.pass(worker).await;
            let pause = match &report {
                Ok(report) if report.is_idle() => {
                    (idle, failures) = (idle.saturating_add(1), 0);
                    core.settings.poll.delay(idle - 1).min(report.next)
                }
                Ok(_) => {
                    (idle, failures) = (0, 0);
                    continue;
                }
                Err(_) => {
                    // The rows of the notification may still be waiting: the next pass follows soon, not after the poll interval.
                    (idle, failures) = (0, failures.saturating_add(1));
                    UNAVAILABLE.delay(failures - 1)
                }
            };
            self.0.paused.send_modify(|paused| paused[worker as usize] = report.is_ok().then_some(seen));
            tokio::select! {
                _ = stopped.changed() => {}
                _ = wakeups.changed() => idle = 0,
                () = core.clock().sleep(pause.max(Duration::from_millis(1))) => {}
            }
            self.0.paused.send_modify(|paused| paused[worker as usize] = None);
        }
    }

    /// For test suites: waits until both workers are idle, without a failure, after `wakeups` notifications.
    #[cfg(feature = "testing")]
    pub(super) async fn until_paused(&self, wakeups: u64) {
        let is_paused = |paused: &[Option<u64>; 2]| paused.iter().all(|seen| *seen >= Some(wakeups));
        // The sender is a field of `self`, so waiting cannot fail.
        let _ = self.0.paused.subscribe().wait_for(is_paused).await;
    }

    /// Forwards notifications of commits of this process that left effects.
    async fn forward_local_commits(self) {
        let committed = Arc::clone(self.0.core.shared.committed());
        loop {
            committed.notified().await;
            self.0.wakeups.send_modify(|times| *times += 1);
        }
    }

    /// Forwards notifications of commits of other processes, if the database has them.
    async fn forward_remote_commits(self) {
        let core = &self.0.core;
        let mut failures = 0_u32;
        let on_notification = || {
            core.metrics.notifications.increment(1);
            self.0.wakeups.send_modify(|times| *times += 1);
        };
        // It returns without an error only if the database has no notifications.
        while let Err(error) = core.pool.listen(&on_notification).await {
            core.metrics.call_failed("listen");
            tracing::debug!(%error, "the relay receives no notifications of other processes now; it polls");
            failures = failures.saturating_add(1);
            core.clock().sleep(UNAVAILABLE.delay(failures)).await;
        }
    }

    async fn run_housekeeping(self) {
        let core = &self.0.core;
        loop {
            let deleted = retention::run_once(core).await;
            core.failing.log("retention", &deleted, |error, times| {
                tracing::warn!(%error, times, "could not delete old rows of the outbox; it is retried");
            });
            if deleted.is_err() {
                core.metrics.call_failed("retention");
            }
            if let Err(error) = retention::measure(core).await {
                core.metrics.call_failed("measure");
                tracing::debug!(%error, "could not measure the outbox");
            }
            core.clock().sleep(HOUSEKEEPING).await;
        }
    }
}
