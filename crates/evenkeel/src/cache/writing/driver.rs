//! The loop that drives failed invalidations until they are done, one for all caches of a keel. Each cache has a backoff of its own.

use super::replay::Redrive;
use evenkeel_link::clock::{Clock, Moment};
use evenkeel_link::support::{Background, Backoff, in_groups};
use parking_lot::{Mutex, MutexGuard};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Notify;

const BACKOFF: Backoff = Backoff { delay_min: Duration::from_millis(50), delay_max: Duration::from_secs(2) };

/// Starts the loop and tells it who has failed invalidations.
#[derive(Default)]
pub(crate) struct Driver {
    owing: Arc<Owing>,
    task: Mutex<Option<Background>>,
}

/// The caches with invalidations to drive.
#[derive(Default)]
struct Owing {
    waiting: Mutex<Vec<Waiting>>,
    news: Notify,
}

struct Waiting {
    redrive: Weak<Redrive>,
    attempt: u32,
    due: Moment,
}

impl Driver {
    /// Starts the loop on the current runtime, unless it runs.
    pub(crate) fn start(&self, clock: &Clock) {
        let mut task = self.task.lock();
        if task.as_ref().is_none_or(Background::is_over) {
            let (owing, own_clock) = (Arc::clone(&self.owing), clock.clone());
            let run = move || drive(Arc::clone(&owing), own_clock.clone());
            *task = Some(Background::spawn("cache redrive", clock.clone(), run));
        }
    }

    /// `redrive` has a failed invalidation. It is driven at once, unless it waits for its next attempt already.
    pub(crate) fn owe(&self, redrive: &Arc<Redrive>, now: Moment) {
        let mut waiting = self.owing.waiting();
        if !waiting.iter().any(|waiting| waiting.is_of(redrive)) {
            waiting.push(Waiting { redrive: Arc::downgrade(redrive), attempt: 0, due: now });
        }
        drop(waiting);
        self.owing.news.notify_one();
    }
}

impl Waiting {
    fn is_of(&self, redrive: &Arc<Redrive>) -> bool {
        std::ptr::eq(self.redrive.as_ptr(), Arc::as_ptr(redrive))
    }
}

impl Owing {
    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock()
    }

    /// Drives what is due once, and says how long until the next is.
    async fn run_due(&self, clock: &Clock) -> Option<Duration> {
        let now = clock.now();
        let due: Vec<_> = self.waiting().extract_if(.., |waiting| waiting.due <= now).collect();
        in_groups(due.into_iter().map(|Waiting { redrive, attempt, .. }| async move {
            // It holds no cache: what is gone is driven no more.
            let Some(redrive) = redrive.upgrade() else { return };
            if redrive.run_once().await > 0 {
                self.wait(&redrive, attempt, clock.now());
            }
        }))
        .await;
        let waiting = self.waiting();
        waiting.iter().map(|waiting| waiting.due.since(now)).min()
    }

    fn wait(&self, redrive: &Arc<Redrive>, attempt: u32, now: Moment) {
        let next =
            Waiting { redrive: Arc::downgrade(redrive), attempt: attempt + 1, due: now + BACKOFF.delay(attempt) };
        let mut waiting = self.waiting();
        // One more may have failed meanwhile.
        match waiting.iter_mut().find(|waiting| waiting.is_of(redrive)) {
            Some(waiting) => *waiting = next,
            None => waiting.push(next),
        }
    }
}

async fn drive(owing: Arc<Owing>, clock: Clock) {
    loop {
        match owing.run_due(&clock).await {
            None => owing.news.notified().await,
            Some(pause) => tokio::select! {
                () = owing.news.notified() => {}
                () = clock.sleep(pause) => {}
            },
        }
    }
}
