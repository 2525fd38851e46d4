//! [`Ends`]: a delayed job for every link that ends, which switches it off at its end.
//!
//! The end is checked on every read as well, so nothing here decides where a visitor is sent. The job marks the link as ended and
//! clears it from the caches of all instances when its time has come, in one unit of work, and counts it. A job is sent, moved and
//! taken back in the unit of work that changes its link; its row in the database judges it, so what Redis loses comes back.

use crate::domain::{Code, Link};
use crate::store::{Ended, Store, StoreError, Writer};
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::link::LinkError;
use evenkeel::queue::{Delivery, Handled, JobId, Queue, QueueError, Retries};
use evenkeel::sql::{Effects, SqlError};
use metrics::{Counter, counter, describe_counter};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tracing::{info, warn};

/// Jobs that are due later are rows only, and take no room in Redis.
const HORIZON: Duration = Duration::from_secs(24 * 3600);

/// What is being ended when the service stops may take so long.
const DRAIN_MAX: Duration = Duration::from_secs(5);

/// Between attempts to open the queue while Redis is away.
const OPEN_PAUSE: Duration = Duration::from_secs(1);

/// The jobs of links that end. Cheap to clone.
#[derive(Clone)]
pub(super) struct Ends {
    /// Empty as long as Redis has been away since the start.
    queue: Arc<OnceLock<Queue<String>>>,
    keel: Keel,
    store: Store,
    clock: Clock,
    ended: Counter,
}

impl Ends {
    /// Jobs that are judged by rows in the database of `store`.
    pub(super) fn new(keel: &Keel, store: &Store, clock: &Clock) -> Self {
        describe_counter!("shortlink_links_ended_total", "Links that were switched off by their delayed job");
        let ended = counter!("shortlink_links_ended_total");
        let (keel, store, clock) = (keel.clone(), store.clone(), clock.clone());
        Self { queue: Arc::default(), keel, store, clock, ended }
    }

    /// Opens the queue; later, if Redis is away.
    ///
    /// # Errors
    /// [`QueueError`]: the queue cannot be opened like this.
    pub(super) async fn open(&self) -> Result<(), QueueError> {
        match self.queue().await {
            Err(error) if error.is_retryable() => {
                warn!(%error, "until Redis is there, links that end cannot be made, and none is switched off by its job");
                Ok(())
            }
            opened => opened.map(drop),
        }
    }

    /// The queue, opened if it is not yet.
    async fn queue(&self) -> Result<Queue<String>, QueueError> {
        if let Some(queue) = self.queue.get() {
            return Ok(queue.clone());
        }
        // A job that Redis evicts is put back from its row.
        let queue = self.keel.queue::<String>("link-ends").retries(Retries::Unlimited).allow_eviction();
        let queue = self.store.judge(queue).horizon(HORIZON).build().await?;
        Ok(self.queue.get_or_init(|| queue).clone())
    }

    /// Has the link switched off at its end, if that is still to come, and at no other time.
    pub(super) fn plan(&self, link: &Link, now_ms: i64, effects: &mut Effects) -> Result<(), SqlError> {
        if let Some(end) = link.expires_at.filter(|end| end.as_millisecond() > now_ms) {
            let Some(queue) = self.queue.get() else { return Err(QueueError::Link(away(&self.keel)).into()) };
            effects.enqueue(queue.job(&link.code.to_string()).id(name(&link.code)).at(end))?;
        }
        Ok(())
    }

    /// It is not to be switched off any more.
    pub(super) fn take_back(&self, code: &Code, effects: &mut Effects) -> Result<(), SqlError> {
        // Without it the job finds, at its time, that the row has another end.
        match self.queue.get() {
            Some(queue) => effects.revoke(queue, JobId::named(name(code).as_bytes())),
            None => Ok(()),
        }
    }

    /// Runs the jobs that are due until `shutdown`.
    ///
    /// # Errors
    /// [`QueueError`]: the connection was closed for good.
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
            async move { end(&job.body, &writer, &ended).await }
        });
        consumer.drain(DRAIN_MAX).run(shutdown).await
    }
}

/// A link's time has come, if the database says so, too.
async fn end(code: &str, writer: &Writer, ended: &Counter) -> Result<Handled, StoreError> {
    let Ok(code) = Code::parse(code) else { return Ok(Handled::Dead("no code".to_owned())) };
    Ok(match writer.end(&code).await? {
        // By this instance's clock it is not time yet.
        Ended::Later(end) => Handled::Snooze(end.duration_since(writer.now()).unsigned_abs()),
        Ended::Before => Handled::Done,
        Ended::Now => {
            ended.increment(1);
            info!(%code, "the link has ended");
            Handled::Done
        }
    })
}

/// Why there is no queue.
fn away(keel: &Keel) -> LinkError {
    let address = keel.link().map(|link| link.address()).unwrap_or_default();
    LinkError::Down { address, reason: "it has been away since the start".to_owned() }
}

fn name(code: &Code) -> String {
    format!("end/{code}")
}
