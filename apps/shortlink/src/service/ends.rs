//! [`Ends`]: a delayed job for every link that ends, which switches it off at its end.
//!
//! The end is checked on every read as well, so nothing here decides where a visitor is sent. The job clears the link from the
//! caches of all instances when its time has come, and counts it. The database is the truth: a job follows the version of its
//! link, the newest wins, and what a crash between commit and job has lost is put back when an instance starts.

use super::redirects::Redirects;
use crate::domain::{Code, Link};
use crate::store::{Store, StoreError};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::queue::{Delivery, Handled, JobId, Queue, QueueError, Retries};
use jiff::Timestamp;
use metrics::{Counter, counter, describe_counter};
use std::time::Duration;
use tracing::{info, warn};

/// Links whose jobs are put back in one go when an instance starts.
const SWEEP: u32 = 500;

/// The jobs of links that end. Cheap to clone.
#[derive(Clone)]
pub(super) struct Ends {
    queue: Queue<String>,
    ended: Counter,
}

impl Ends {
    /// Opens the queue.
    ///
    /// # Errors
    /// [`QueueError`]: Redis could not be asked.
    pub(super) async fn open(keel: &Keel) -> Result<Self, QueueError> {
        describe_counter!("shortlink_links_ended_total", "Links that were switched off by their delayed job");
        // A job that Redis evicts is put back by the next instance that starts.
        let queue = keel.queue::<String>("link-ends").retries(Retries::Unlimited).allow_eviction().build().await?;
        Ok(Self { queue, ended: counter!("shortlink_links_ended_total") })
    }

    /// Has the link switched off at its end, and at no other time; or at no time, if it has no end.
    pub(super) async fn follow(&self, link: &Link) {
        let version = u64::try_from(link.version).unwrap_or(1).max(1);
        let planned = match link.expires_at {
            Some(end) => self.queue.job(&link.code.to_string()).id(name(&link.code)).at(end).put(version).await,
            None => self.queue.withdraw(&id(&link.code), version).await,
        };
        if let Err(error) = planned {
            self.missed(&link.code, &error);
        }
    }

    /// There is no such link any more.
    pub(super) async fn forget(&self, code: &Code) {
        if let Err(error) = self.queue.revoke(&id(code)).await {
            self.missed(code, &error);
        }
    }

    /// Runs the jobs that are due until `shutdown`, and puts those back first that are missing.
    ///
    /// # Errors
    /// [`QueueError`]: the connection was closed for good.
    pub(super) async fn run(
        self,
        store: Store,
        redirects: Redirects,
        clock: Clock,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), QueueError> {
        let sweep = self.put_back(&store, now(&clock));
        let (ends, of_jobs) = (self.clone(), store.clone());
        let consumer = self.queue.consume(move |job: Delivery<String>| {
            let (ends, store, redirects, clock) = (ends.clone(), of_jobs.clone(), redirects.clone(), clock.clone());
            async move { ends.end(&job.body, &store, &redirects, now(&clock)).await }
        });
        let consuming = consumer.drain(Duration::from_secs(5)).run(shutdown);
        tokio::pin!(consuming);
        tokio::select! {
            ended = &mut consuming => return ended,
            swept = sweep => match swept {
                Ok(0) => {}
                Ok(links) => info!(links, "links that end are watched"),
                Err(error) => warn!(%error, "cannot look for links that end; those without a job end on read"),
            }
        }
        consuming.await
    }

    /// A link's time has come, if the database says so, too.
    async fn end(
        &self,
        code: &str,
        store: &Store,
        redirects: &Redirects,
        now: Timestamp,
    ) -> Result<Handled, StoreError> {
        let Ok(code) = Code::parse(code) else { return Ok(Handled::Dead("no code".to_owned())) };
        match store.find(&code).await?.and_then(|link| link.expires_at) {
            None => Ok(Handled::Done),
            // Its job for the new end could not be sent; this one waits instead.
            Some(end) if end > now => Ok(Handled::Snooze(end.duration_since(now).unsigned_abs())),
            Some(_) => {
                redirects.forget(&code).await;
                self.ended.increment(1);
                info!(%code, "the link has ended");
                Ok(Handled::Done)
            }
        }
    }

    /// Gives every link that ends its job again; those that have it keep it.
    async fn put_back(&self, store: &Store, now: Timestamp) -> Result<usize, StoreError> {
        let (mut after, mut found) = (0, 0);
        loop {
            let page = store.ending_after(now, after, SWEEP).await?;
            let Some((last, _)) = page.last() else { return Ok(found) };
            after = *last;
            found += page.len();
            for (_, link) in &page {
                self.follow(link).await;
            }
        }
    }

    fn missed(&self, code: &Code, error: &QueueError) {
        warn!(%code, %error, "the job that switches a link off could not be changed; its end is still checked on read");
    }
}

fn name(code: &Code) -> String {
    format!("end/{code}")
}

fn id(code: &Code) -> JobId {
    JobId::named(name(code).as_bytes())
}

fn now(clock: &Clock) -> Timestamp {
    let ms = i64::try_from(clock.unix_ms()).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
}
