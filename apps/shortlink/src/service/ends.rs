//! [`Ends`]: a delayed job for every link that ends, which switches it off at its end.
//!
//! The end is checked on every read as well, so nothing here decides where a visitor is sent. The job marks the link as ended and
//! clears it from the caches of all instances when its time has come, in one unit of work, and counts it. A job is sent, moved and
//! taken back in the unit of work that changes its link; its row in the database judges it, so what Redis loses comes back.

use crate::domain::{Code, Link};
use crate::store::{Ended, Store, StoreError, Writer};
use evenkeel::Keel;
use evenkeel::queue::{Delivery, Handled, JobId, Queue, QueueError, Retries};
use evenkeel::sql::{Effects, SqlError};
use metrics::{Counter, counter, describe_counter};
use std::time::Duration;
use tracing::info;

/// Jobs that are due later are rows only, and take no room in Redis.
const HORIZON: Duration = Duration::from_secs(24 * 3600);

/// What is being ended when the service stops may take so long.
const DRAIN_MAX: Duration = Duration::from_secs(5);

/// The jobs of links that end. Cheap to clone.
#[derive(Clone)]
pub(super) struct Ends {
    queue: Queue<String>,
    ended: Counter,
}

impl Ends {
    /// Opens the queue, whose jobs are judged by rows in the database of `store`.
    ///
    /// # Errors
    /// [`QueueError`]: Redis could not be asked.
    pub(super) async fn open(keel: &Keel, store: &Store) -> Result<Self, QueueError> {
        describe_counter!("shortlink_links_ended_total", "Links that were switched off by their delayed job");
        // A job that Redis evicts is put back from its row.
        let queue = keel.queue::<String>("link-ends").retries(Retries::Unlimited).allow_eviction();
        let queue = store.judge(queue).horizon(HORIZON).build().await?;
        Ok(Self { queue, ended: counter!("shortlink_links_ended_total") })
    }

    /// Has the link switched off at its end, if that is still to come, and at no other time.
    pub(super) fn plan(&self, link: &Link, now_ms: i64, effects: &mut Effects) -> Result<(), SqlError> {
        if let Some(end) = link.expires_at.filter(|end| end.as_millisecond() > now_ms) {
            effects.enqueue(self.queue.job(&link.code.to_string()).id(name(&link.code)).at(end))?;
        }
        Ok(())
    }

    /// It is not to be switched off any more.
    pub(super) fn take_back(&self, code: &Code, effects: &mut Effects) {
        effects.revoke(&self.queue, JobId::named(name(code).as_bytes()));
    }

    /// Runs the jobs that are due until `shutdown`.
    ///
    /// # Errors
    /// [`QueueError`]: the connection was closed for good.
    pub(super) async fn run(self, writer: Writer, shutdown: impl Future<Output = ()> + Send) -> Result<(), QueueError> {
        let consumer = self.queue.consume(move |job: Delivery<String>| {
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

fn name(code: &Code) -> String {
    format!("end/{code}")
}
