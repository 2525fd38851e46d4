//! The loop that replays failed invalidations until they succeed, one for all caches of a keel. Each cache has an exponential
//! backoff of its own.

use super::replay::Replayer;
use evenkeel_link::clock::{Clock, Moment};
use evenkeel_link::support::{Background, Backoff};
use futures_util::future::join_all;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Notify;

const BACKOFF: Backoff = Backoff { delay_min: Duration::from_millis(50), delay_max: Duration::from_secs(2) };

/// Starts the loop and passes it the caches with failed invalidations.
#[derive(Default)]
pub(crate) struct Driver {
    backlog: Arc<Backlog>,
    task: Mutex<Option<Background>>,
}

/// The caches with invalidations to replay.
#[derive(Default)]
struct Backlog {
    waiting: Mutex<Vec<Waiting>>,
    wake_up: Notify,
}

struct Waiting {
    replayer: Weak<Replayer>,
    attempt: u32,
    due: Moment,
}

impl Driver {
    /// Starts the loop on the current runtime, unless it is running.
    pub(crate) fn start(&self, clock: &Clock) {
        let mut task = self.task.lock();
        if task.as_ref().is_none_or(Background::is_over) {
            let (backlog, own_clock) = (Arc::clone(&self.backlog), clock.clone());
            let run = move || run_loop(Arc::clone(&backlog), own_clock.clone());
            *task = Some(Background::spawn("cache replay", clock.clone(), run));
        }
    }

    /// Schedules `replayer`, which has a failed invalidation: at once, unless it waits for its next attempt already.
    pub(crate) fn schedule(&self, replayer: &Arc<Replayer>, now: Moment) {
        let mut waiting = self.backlog.waiting.lock();
        if !waiting.iter().any(|waiting| waiting.is_of(replayer)) {
            waiting.push(Waiting { replayer: Arc::downgrade(replayer), attempt: 0, due: now });
        }
        drop(waiting);
        self.backlog.wake_up.notify_one();
    }
}

impl Waiting {
    fn is_of(&self, replayer: &Arc<Replayer>) -> bool {
        std::ptr::eq(self.replayer.as_ptr(), Arc::as_ptr(replayer))
    }
}

impl Backlog {
    /// Runs each due replayer once, and returns the time until the next is due.
    async fn run_due(&self, clock: &Clock) -> Option<Duration> {
        let now = clock.now();
        let due: Vec<_> = self.waiting.lock().extract_if(.., |waiting| waiting.due <= now).collect();
        join_all(due.into_iter().map(|Waiting { replayer, attempt, .. }| async move {
            // The loop keeps no cache alive; the invalidations of a dropped replayer are not replayed.
            let Some(replayer) = replayer.upgrade() else { return };
            if replayer.run_once().await > 0 {
                self.wait(&replayer, attempt, clock.now());
            }
        }))
        .await;
        let waiting = self.waiting.lock();
        waiting.iter().map(|waiting| waiting.due.since(now)).min()
    }

    fn wait(&self, replayer: &Arc<Replayer>, attempt: u32, now: Moment) {
        let next =
            Waiting { replayer: Arc::downgrade(replayer), attempt: attempt + 1, due: now + BACKOFF.delay(attempt) };
        let mut waiting = self.waiting.lock();
        // Another invalidation may have failed meanwhile.
        match waiting.iter_mut().find(|waiting| waiting.is_of(replayer)) {
            Some(waiting) => *waiting = next,
            None => waiting.push(next),
        }
    }
}

async fn run_loop(backlog: Arc<Backlog>, clock: Clock) {
    loop {
        match backlog.run_due(&clock).await {
            None => backlog.wake_up.notified().await,
            Some(pause) => tokio::select! {
                () = backlog.wake_up.notified() => {}
                () = clock.sleep(pause) => {}
            },
        }
    }
}
