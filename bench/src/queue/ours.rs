//! Evenkeel's queue, with the same requests as the peers.

use super::peer::{Answer, Question};
use super::{BULK, DELAY, body};
use crate::load::rate;
use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::codec::Raw;
use evenkeel::queue::{Delivery, Handled, Queue};
use parking_lot::Mutex;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// Handlers at once, as the peers run them.
const CONCURRENCY: usize = 100;
/// Calls at once where many jobs are to be sent.
const SENDERS: usize = 4;

/// A queue of the product, opened by a process of its own.
#[derive(Clone)]
pub(crate) struct Ours {
    queue: Queue<Bytes>,
}

/// A job that has begun: how late, and when.
pub(crate) struct Begun {
    pub(crate) late_ms: f64,
    pub(crate) at: Instant,
}

impl Ours {
    pub(crate) async fn open(url: &str, topic: &str, shards: u16) -> Result<Self> {
        let keel = Keel::connect(url).await?;
        let queue = keel.queue::<Bytes>(topic).codec(Raw).shards(shards).open().await?;
        Ok(Self { queue })
    }

    pub(crate) async fn ask(&self, question: Question) -> Result<Answer> {
        match question.r#do {
            "send" => self.send(question).await,
            "fill" => {
                let now = now_ms();
                let far = now + u64::try_from(DELAY.as_millis())?;
                self.bulk(question.jobs, move |number| Some(far + number)).await?;
                Ok(Answer::default())
            }
            "work" => self.work(question.jobs).await,
            "late" => self.late(question).await,
            other => bail!("unknown request: {other}"),
        }
    }

    async fn send(&self, question: Question) -> Result<Answer> {
        let (queue, bulk) = (self.queue.clone(), question.bulk);
        let calls = rate(question.tasks, Duration::from_millis(question.ms), move |_| {
            let queue = queue.clone();
            async move {
                if bulk == 0 {
                    queue.delay(DELAY, &body()).await?;
                } else {
                    let body = body();
                    queue.enqueue_all((0..bulk).map(|_| queue.job(&body).delay(DELAY))).await?;
                }
                Ok(())
            }
        });
        Ok(Answer { rate: calls.await? * bulk.max(1) as f64, ..Answer::default() })
    }

    async fn work(&self, jobs: usize) -> Result<Answer> {
        self.bulk(jobs, |_| None).await?;
        let begun = self.until(jobs).await?;
        let times = begun.iter().map(|begun| begun.at);
        let (first, last) = (times.clone().min(), times.max());
        let span = last.zip(first).map(|(last, first)| last - first).context("nothing was handled")?;
        Ok(Answer { rate: jobs as f64 / span.as_secs_f64(), ..Answer::default() })
    }

    async fn late(&self, question: Question) -> Result<Answer> {
        let start = now_ms() + question.lead_ms;
        self.bulk(question.jobs, move |number| Some(start + number * 1_000 / question.per_second)).await?;
        lateness(self.until(question.jobs).await?)
    }

    /// Sends so many jobs; `due` says when each is due, in ms since 1970, if not at once.
    pub(crate) async fn bulk(
        &self,
        jobs: usize,
        due: impl Fn(u64) -> Option<u64> + Clone + Send + Sync + 'static,
    ) -> Result<()> {
        let mut calls = JoinSet::new();
        for first in (0..jobs).step_by(BULK) {
            if calls.len() == SENDERS {
                calls.join_next().await.context("some are on their way")???;
            }
            let (queue, due, numbers) = (self.queue.clone(), due.clone(), first..jobs.min(first + BULK));
            calls.spawn(async move {
                let body = body();
                let order = |number: usize| match due(number as u64) {
                    Some(due) => queue.job(&body).at(due),
                    None => queue.job(&body),
                };
                queue.enqueue_all(numbers.map(order)).await?;
                Ok::<_, anyhow::Error>(())
            });
        }
        while let Some(done) = calls.join_next().await {
            done??;
        }
        Ok(())
    }

    /// Runs a consumer until it has begun so many jobs, and has settled them.
    pub(crate) async fn until(&self, jobs: usize) -> Result<Vec<Begun>> {
        let begun = Arc::new(Mutex::new(Vec::with_capacity(jobs)));
        let done = Arc::new(Notify::new());
        let (seen, all) = (Arc::clone(&begun), Arc::clone(&done));
        let consumer = self.queue.consume(move |job: Delivery<Bytes>| {
            let mut seen = seen.lock();
            seen.push(Begun { late_ms: exact_ms() - job.due_at.unwrap_or_default() as f64, at: Instant::now() });
            if seen.len() == jobs {
                all.notify_one();
            }
            std::future::ready(Ok::<_, Infallible>(Handled::Done))
        });
        consumer.concurrency(CONCURRENCY).run(done.notified()).await?;
        let begun = std::mem::take(&mut *begun.lock());
        ensure!(begun.len() >= jobs, "the consumer ended after {} of {jobs} jobs", begun.len());
        Ok(begun)
    }
}

/// How late jobs began.
pub(crate) fn lateness(begun: Vec<Begun>) -> Result<Answer> {
    let mut late: Vec<f64> = begun.into_iter().map(|begun| begun.late_ms).collect();
    late.sort_by(f64::total_cmp);
    let at = |part: usize| {
        late.get((late.len() * part / 100).min(late.len().saturating_sub(1))).copied().context("nothing began")
    };
    Ok(Answer { p50: at(50)?, p99: at(99)?, max: at(100)?, ..Answer::default() })
}

/// The wall clock, which is the server's too.
pub(crate) fn now_ms() -> u64 {
    u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
}

fn exact_ms() -> f64 {
    since_1970().as_secs_f64() * 1_000.0
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
