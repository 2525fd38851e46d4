//! Evenkeel's locks, with the same operations as the peers.

use super::TTL;
use super::pairs::Names;
use crate::load::rate;
use anyhow::{Context, Result, ensure};
use evenkeel::Keel;
use evenkeel::lock::{Guard, ReleaseOutcome, Wait};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// The time until all tasks are waiting.
const QUEUED: Duration = Duration::from_millis(100);
/// Calls at once where many locks are concerned.
const AT_ONCE: usize = 64;

/// As many keels as there may be processes that contend for one lock.
pub(crate) struct Ours {
    keels: Vec<Keel>,
}

/// Where the processes are that contend for a lock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    /// Tasks of one process.
    Together,
    /// Each in a process of its own: a keel with its own connections and its own name.
    Apart,
}

impl Ours {
    pub(crate) async fn open(url: &str, waiters_max: usize) -> Result<Self> {
        let mut keels = Vec::new();
        for _ in 0..=waiters_max {
            keels.push(Keel::connect(url).await?);
        }
        Ok(Self { keels })
    }

    /// Acquisitions with their releases a second; each task has a lock of its own.
    pub(crate) async fn pairs(&self, tasks: usize, span: Duration) -> Result<f64> {
        let (keel, names) = (self.first()?, Names::new("pairs", tasks));
        rate(tasks, span, move |_| {
            let (keel, names) = (keel.clone(), names.clone());
            async move {
                let name = names.take().context("each task has a name")?;
                released(keel.lock(&name).ttl(TTL).acquire().await?).await?;
                names.give_back(name);
                Ok(())
            }
        })
        .await
    }

    /// The time from the release until the last waiter has held the lock, divided by the number of waiters, in ms. Each waits once.
    pub(crate) async fn hand_over(&self, waiters: usize, place: Where) -> Result<f64> {
        let guard = acquired(self.first()?).await?;
        let mut running = JoinSet::new();
        for number in 1..=waiters {
            let keel = self.keel(number, place)?;
            running.spawn(async move {
                let guard = acquired(keel).await?;
                let at = Instant::now();
                released(guard).await?;
                Ok::<_, anyhow::Error>(at)
            });
        }
        tokio::time::sleep(QUEUED).await;
        let start = Instant::now();
        released(guard).await?;
        let mut last = start;
        while let Some(done) = running.join_next().await {
            last = last.max(done??);
        }
        Ok((last - start).as_secs_f64() * 1e3 / waiters as f64)
    }

    /// How long it takes until each of them has held the lock for `hold`, in ms.
    pub(crate) async fn holds(&self, tasks: usize, place: Where, hold: Duration) -> Result<f64> {
        let start = Instant::now();
        let mut running = JoinSet::new();
        for number in 1..=tasks {
            let keel = self.keel(number, place)?;
            running.spawn(async move {
                let guard = acquired(keel).await?;
                // Exactly so long: a timer of the runtime rounds up to its next millisecond.
                tokio::task::spawn_blocking(move || std::thread::sleep(hold)).await?;
                released(guard).await
            });
        }
        while let Some(done) = running.join_next().await {
            done??;
        }
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }

    /// Takes so many locks.
    pub(crate) async fn take(&self, locks: u64, ttl: Duration) -> Result<Vec<Guard>> {
        let mut held = Vec::new();
        let mut running = JoinSet::new();
        for number in 0..locks {
            if running.len() == AT_ONCE {
                held.push(running.join_next().await.context("some are on their way")???);
            }
            let lock = self.first()?.lock(&format!("held/{number}")).ttl(ttl);
            running.spawn(lock.acquire());
        }
        while let Some(taken) = running.join_next().await {
            held.push(taken??);
        }
        Ok(held)
    }

    /// Gives them back; an error if one of them was lost.
    pub(crate) async fn give_back(&self, held: Vec<Guard>) -> Result<()> {
        let mut running = JoinSet::new();
        for guard in held {
            if running.len() == AT_ONCE {
                running.join_next().await.context("some are on their way")???;
            }
            running.spawn(released(guard));
        }
        while let Some(done) = running.join_next().await {
            done??;
        }
        Ok(())
    }

    fn keel(&self, number: usize, place: Where) -> Result<Keel> {
        let number = if place == Where::Apart { number } else { 0 };
        self.keels.get(number).cloned().context("there are as many keels as may wait")
    }

    fn first(&self) -> Result<Keel> {
        self.keel(0, Where::Together)
    }
}

async fn acquired(keel: Keel) -> Result<Guard> {
    Ok(keel.lock("hot").ttl(TTL).wait(Wait::Forever).acquire().await?)
}

async fn released(guard: Guard) -> Result<()> {
    let found = guard.release().await?;
    ensure!(found == ReleaseOutcome::Released, "a lock was not held any more: {found:?}");
    Ok(())
}
