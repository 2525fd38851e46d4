//! [`ExpiryJobs`]: a delayed job for every link with an expiry.
//!
//! Redirects check the expiry themselves, so visitors do not depend on the job. When it is due, the job marks the link as ended,
//! invalidates its cache entry on all instances, both in one unit of work, and counts it. The unit of work that changes a link
//! enqueues, reschedules or revokes its job. The job's row in SQL is its source of truth, so a job that Redis loses comes back.

use crate::domain::{Code, Link};
use crate::store::{ExpiryOutcome, Store, StoreError, Writer};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::link::LinkError;
use evenkeel::queue::{Delivery, Handled, JobId, Queue, QueueError, Retries};
use evenkeel::sql::{Effects, SqlError};
use jiff::Timestamp;
use metrics::{Counter, counter, describe_counter};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tracing::{info, warn};

/// Jobs due later than this are rows only and use no memory in Redis.
const HORIZON: Duration = Duration::from_secs(24 * 3600);

/// The latest due time of a job: the year 3000, which every queue accepts. A job that is due before the link expires waits again.
const DUE_MAX: Timestamp = Timestamp::constant(32_503_680_000, 0);

/// How long jobs in progress may take at shutdown.
const DRAIN_MAX: Duration = Duration::from_secs(5);

/// Pause between attempts to open the queue while Redis is unreachable.
const OPEN_PAUSE: Duration = Duration::from_secs(1);

/// The expiry jobs. Cheap to clone.
#[derive(Clone)]
pub(super) struct ExpiryJobs {
    /// Empty until Redis was reached for the first time.
    queue: Arc<OnceLock<Queue<String>>>,
    keel: Keel,
    store: Store,
    clock: Clock,
    ended: Counter,
}

impl ExpiryJobs {
    /// Expiry jobs whose rows are in the database of `store`. Call [`open`](Self::open) before use.
    pub(super) fn new(keel: &Keel, store: &Store, clock: &Clock) -> Self {
        describe_counter!("shortlink_links_ended_total", "Links marked as expired by their delayed job");
        let ended = counter!("shortlink_links_ended_total");
        let (keel, store, clock) = (keel.clone(), store.clone(), clock.clone());
        Self { queue: Arc::default(), keel, store, clock, ended }
    }

    /// Opens the queue. If Redis is unreachable, [`run`](Self::run) opens it later.
    ///
    /// # Errors
    /// [`QueueError`] that a retry does not help.
    pub(super) async fn open(&self) -> Result<(), QueueError> {
        match self.queue().await {
            Err(error) if error.is_retryable() => {
                warn!(%error, "Redis is unreachable; until it is back, links with an expiry are refused and expiry jobs do not run");
                Ok(())
            }
            opened => opened.map(drop),
        }
    }

    /// The queue, opened on first use.
    async fn queue(&self) -> Result<Queue<String>, QueueError> {
        if let Some(queue) = self.queue.get() {
            return Ok(queue.clone());
        }
        // Eviction is safe: the job is restored from its row.
        let queue = self.keel.queue::<String>("link-ends").retries(Retries::Unlimited).allow_eviction();
        let queue = self.store.back_queue(queue).horizon(HORIZON).open().await?;
        Ok(self.queue.get_or_init(|| queue).clone())
    }

    /// Enqueues the link's job, or reschedules it, if its expiry is in the future.
    pub(super) fn schedule(&self, link: &Link, now_ms: i64, effects: &mut Effects) -> Result<(), SqlError> {
        if let Some(end) = link.expires_at.filter(|end| end.as_millisecond() > now_ms) {
            let Some(queue) = self.queue.get() else { return Err(QueueError::Link(away(&self.keel)).into()) };
            effects.enqueue(queue.job(&link.code.to_string()).id(name(&link.code)).at(end.min(DUE_MAX)))?;
        }
        Ok(())
    }

    /// Revokes the link's job.
    pub(super) fn revoke(&self, code: &Code, effects: &mut Effects) -> Result<(), SqlError> {
        // Without a queue the job stays, and does nothing when it is due, because the link's row has another expiry.
        match self.queue.get() {
            Some(queue) => effects.revoke(queue, JobId::named(name(code).as_bytes())),
            None => Ok(()),
        }
    }

    /// Runs due jobs until `shutdown`.
    ///
    /// # Errors
    /// [`QueueError`] that a retry does not help.
    pub(super) async fn run(self, writer: Writer, shutdown: impl Future<Output = ()> + Send) -> Result<(), QueueError> {
        tokio::pin!(shutdown);
        let queue = loop {
            match self.queue().await {
                Ok(queue) => break queue,
                Err(error) if error.is_retryable() => {}
                Err(error) => return Err(error),
            }
            tokio::select! {
                () = &mut shutdown => return Ok(()),
                () = self.clock.sleep(OPEN_PAUSE) => {}
            }
        };
        let consumer = queue.consume(move |job: Delivery<String>| {
            let (writer, ended) = (writer.clone(), self.ended.clone());
            async move { expire(&job.body, &writer, &ended).await }
        });
        consumer.drain(DRAIN_MAX).run(shutdown).await
    }
}

/// Handles a due job. The row in the database decides whether the link has expired.
async fn expire(code: &str, writer: &Writer, ended: &Counter) -> Result<Handled, StoreError> {
    let Ok(code) = Code::parse(code) else { return Ok(Handled::Dead("no code".to_owned())) };
    Ok(match writer.expire(&code).await? {
        // This instance's clock is behind the one that scheduled the job.
        ExpiryOutcome::NotYet(end) => Handled::Snooze(end.duration_since(writer.now()).unsigned_abs()),
        ExpiryOutcome::Unchanged => Handled::Done,
        ExpiryOutcome::Marked => {
            ended.increment(1);
            info!(%code, "link expired");
            Handled::Done
        }
    })
}

/// The error while the queue is not open.
fn away(keel: &Keel) -> LinkError {
    let address = keel.link().map(|link| link.address()).unwrap_or_default();
    LinkError::Down { address, reason: "unreachable since the start".to_owned() }
}

fn name(code: &Code) -> String {
    format!("end/{code}")
}
