//! [`Queue`]: the typed handle on one queue.

use super::metrics::QueueMetrics;
use super::settings::{Durability, Settings};
use super::store::QueueStore;
use super::store::queues::Queues;
use super::topic::Topic;
use crate::queue::sending::builder::{JobBuilder, Sent};
use crate::queue::sending::send;
use crate::queue::settings::registration::Registration;
use crate::queue::sharding::router::Router;
use bytes::Bytes;
use evenkeel_link::clock::{Clock, UnixMs};
#[cfg(feature = "sql")]
use evenkeel_link::support::guard;
use evenkeel_link::support::ms;
use evenkeel_protocol::codec::{Codec, encode};
#[cfg(feature = "testing")]
use evenkeel_protocol::queue::QueueBackend;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::JobId;
use evenkeel_protocol::queue::register::TopicRecord;
#[cfg(feature = "testing")]
use evenkeel_protocol::queue::steps::Shard;
use evenkeel_protocol::queue::steps::{Found, Reschedule, Rescheduled, Revoked, When};
use std::sync::Arc;
use std::time::Duration;

/// A handle on one queue; cheap to clone.
///
/// Guarantee: a job that was accepted is delivered until it is acknowledged or dead (at least once), never before it is due.
/// Not guaranteed: that it is delivered once only, or in any order between shards; docs/spec/queue.md has the full list.
pub struct Queue<T> {
    core: Arc<Core<T>>,
    durability: Durability,
}

/// The state that all handles of one queue share.
pub(crate) struct Core<T> {
    pub(super) name: Arc<str>,
    pub(super) store: QueueStore,
    pub(super) router: Arc<Router>,
    pub(super) codec: Arc<dyn Codec<T>>,
    pub(super) settings: Settings,
    pub(super) metrics: Arc<QueueMetrics>,
    pub(super) clock: Clock,
    pub(super) record: TopicRecord,
    pub(super) queues: Arc<Queues>,
    pub(super) registration: Registration,
    /// The rows that decide about the jobs, under `Durability::Sql`.
    #[cfg(feature = "sql")]
    pub(super) rows: Option<Arc<super::sql::JobRows>>,
    #[cfg(feature = "sql")]
    pub(super) _sweeper: Option<evenkeel_link::support::Background>,
}

impl<T> Clone for Queue<T> {
    fn clone(&self) -> Self {
        Self { core: Arc::clone(&self.core), durability: self.durability }
    }
}

impl<T: Send + Sync + 'static> Queue<T> {
    pub(super) fn new(core: Core<T>) -> Self {
        Self { durability: core.settings.durability, core: Arc::new(core) }
    }

    /// The name of the queue.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.core.name
    }

    /// The operator's handle on this queue: lists, statistics, pauses, dead letters.
    #[must_use]
    pub fn topic(&self) -> Topic {
        Topic::of(&self.core)
    }

    /// Enqueues a job that is due at once.
    ///
    /// # Errors
    /// [`QueueError::TooLarge`], [`QueueError::Codec`]: nothing was sent. [`QueueError::Full`]: the queue did not accept the job.
    /// [`QueueError::Link`] with `outcome_unknown`: the queue may have accepted the job, and sending it again may duplicate it. Sending
    /// a job with a caller's id ([`JobBuilder::id`]) again is idempotent. [`QueueError::NotDurable`]: the queue accepted the job, with fewer
    /// copies than required.
    pub async fn now(&self, body: &T) -> Result<JobId, QueueError> {
        self.job(body).enqueue().await.map(|sent| sent.id)
    }

    /// Enqueues a job that is due at `due`: a `SystemTime`, a `jiff::Timestamp`, or ms since 1970. A time in the past means now.
    ///
    /// # Errors
    /// As [`now`](Self::now).
    pub async fn at(&self, due: impl Into<UnixMs>, body: &T) -> Result<JobId, QueueError> {
        self.job(body).at(due).enqueue().await.map(|sent| sent.id)
    }

    /// Enqueues a job that is due `delay` after the server has accepted it.
    ///
    /// # Errors
    /// As [`now`](Self::now).
    pub async fn delay(&self, delay: Duration, body: &T) -> Result<JobId, QueueError> {
        self.job(body).delay(delay).enqueue().await.map(|sent| sent.id)
    }

    /// Begins a job with options; see [`JobBuilder`]. The body is encoded at once.
    pub fn job(&self, body: &T) -> JobBuilder<'_, T> {
        JobBuilder::new(self, body)
    }

    /// Enqueues many jobs, with one round trip per shard for each 500 jobs. Returns one result per job, in order; for a job that a full
    /// queue rejected, [`Sent::answer`] is [`Enqueued::Full`](super::Enqueued::Full).
    ///
    /// # Errors
    /// As [`now`](Self::now), for the whole call: after an error the queue may have accepted any of the jobs.
    pub async fn enqueue_all<'a>(
        &'a self,
        jobs: impl IntoIterator<Item = JobBuilder<'a, T>>,
    ) -> Result<Vec<Sent>, QueueError> {
        let jobs = jobs.into_iter().map(|job| job.into_job(self)).collect::<Result<Vec<_>, _>>()?;
        send::send(self, jobs).await
    }

    /// A handle that enqueues with another durability than the queue was opened with.
    ///
    /// # Errors
    /// [`QueueError::Settings`] if the server does not support that durability.
    pub async fn with_durability(&self, durability: Durability) -> Result<Self, QueueError> {
        let settings = Settings { durability, ..self.core.settings.clone() };
        settings.check(&self.core.name)?;
        #[cfg(feature = "sql")]
        if durability == Durability::Sql && self.core.rows.is_none() {
            let reason = "`Durability::Sql` requires a database; open the queue with `sql(&pool)`".to_owned();
            return Err(QueueError::Settings { queue: self.core.name.to_string(), reason });
        }
        crate::queue::settings::server::check(&self.core.store, &self.core.name, &settings).await?;
        Ok(Self { core: Arc::clone(&self.core), durability })
    }

    /// Revokes a job that is not running. [`Revoked`] reports the state in which the job was found. A finished job with a generated id is
    /// [`Revoked::Unknown`], which does not mean that the id is wrong: completion records exist only for ids and unique keys that the
    /// sender chose.
    ///
    /// # Errors
    /// [`QueueError::Link`]; repeating the call does no harm.
    pub async fn revoke(&self, id: &JobId) -> Result<Revoked, QueueError> {
        #[cfg(feature = "sql")]
        if let Some(rows) = &self.core.rows {
            return rows.revoke(*id).await;
        }
        self.core.router.revoke_one(*id).await
    }

    /// Gives a waiting job another due time. [`Rescheduled`] reports the state in which the job was found.
    ///
    /// # Errors
    /// [`QueueError::Link`]; repeating the call does no harm.
    pub async fn reschedule(&self, id: &JobId, due: impl Into<UnixMs>) -> Result<Rescheduled, QueueError> {
        self.change(*id, Some(When::At(due.into().0)), None).await
    }

    /// Gives a waiting job another due time, counted from the server's current time.
    ///
    /// # Errors
    /// As [`reschedule`](Self::reschedule).
    pub async fn reschedule_in(&self, id: &JobId, delay: Duration) -> Result<Rescheduled, QueueError> {
        self.change(*id, Some(When::In(ms(delay))), None).await
    }

    /// Gives a waiting job another body.
    ///
    /// # Errors
    /// As [`reschedule`](Self::reschedule); [`QueueError::TooLarge`], [`QueueError::Codec`]: nothing was sent.
    pub async fn edit(&self, id: &JobId, body: &T) -> Result<Rescheduled, QueueError> {
        let body = self.core.encode(body)?;
        self.change(*id, None, Some(body)).await
    }

    /// Gives a dead letter another body, if its encoded body is still `seen` (the body that [`find`](Self::find) returned); see
    /// [`Amended`](super::topic::Amended).
    ///
    /// # Errors
    /// As [`Topic::amend`]; [`QueueError::TooLarge`], [`QueueError::Codec`]: nothing was sent.
    pub async fn amend(&self, id: &JobId, seen: &Bytes, body: &T) -> Result<super::topic::Amended, QueueError> {
        self.topic().amend(*id, seen.clone(), self.core.encode(body)?).await
    }

    /// Everything known about a job: its state, its body and its history; or how it ended, while its completion record exists.
    ///
    /// # Errors
    /// [`QueueError::Link`], [`QueueError::Database`]; [`QueueError::Unreadable`] if another program wrote its record.
    pub async fn find(&self, id: &JobId) -> Result<Option<Found>, QueueError> {
        let found = self.core.router.job(*id).await?;
        #[cfg(feature = "sql")]
        if let Some(rows) = self.core.rows.as_ref().filter(|_| found.is_none() || guard("sql_find_asks_row")) {
            return rows.find(*id, found).await;
        }
        Ok(found)
    }

    /// For test suites: the steps of this queue and the shard of a job, to act as another program on the same store.
    #[cfg(feature = "testing")]
    pub fn steps(&self, id: &JobId) -> (QueueBackend, Shard) {
        let shards = self.core.router.shards();
        (self.core.store.steps(), shards.at(shards.of(*id)).clone())
    }

    async fn change(&self, id: JobId, when: Option<When>, body: Option<Bytes>) -> Result<Rescheduled, QueueError> {
        let codec = body.as_ref().map(|_| self.core.codec.id());
        let change = Reschedule { id, when, body, codec };
        #[cfg(feature = "sql")]
        if let Some(rows) = &self.core.rows {
            return rows.reschedule(change).await;
        }
        self.core.router.reschedule_one(change).await
    }

    /// For test suites: compares all rows with the store once, and returns the counts of all pages.
    #[cfg(all(feature = "testing", feature = "sql"))]
    pub async fn sweep_once(&self) -> Result<super::sql::Swept, QueueError> {
        let mut all = super::sql::Swept::default();
        let Some(rows) = &self.core.rows else { return Ok(all) };
        rows.restore_pause().await?;
        let mut after = None;
        loop {
            let page = rows.sweep(super::sql::Cursor::after(after)).await?;
            all.rows += page.rows;
            all.put_back += page.put_back;
            all.ended += page.ended;
            after = page.next;
            if after.is_none() {
                return Ok(all);
            }
        }
    }

    /// Whether rows decide about the jobs of this handle.
    #[cfg(feature = "sql")]
    pub(super) fn has_rows(&self) -> bool {
        self.durability == Durability::Sql
    }

    pub(super) fn core(&self) -> &Arc<Core<T>> {
        &self.core
    }

    pub(super) fn durability_requested(&self) -> Durability {
        self.durability
    }
}

impl<T> Core<T> {
    /// Whether rows decide about the topic's jobs.
    pub(super) fn has_rows(&self) -> bool {
        self.record.row_decides
    }
}

impl<T: 'static> Core<T> {
    /// Encodes a body, within `body_bytes_max`.
    pub(super) fn encode(&self, body: &T) -> Result<Bytes, QueueError> {
        let out = encode(&*self.codec, body)?;
        let limit = self.settings.body_bytes_max;
        if out.len() > limit {
            return Err(QueueError::TooLarge { bytes: out.len(), limit });
        }
        self.metrics.body_bytes.record(out.len() as f64);
        Ok(out.into())
    }
}
