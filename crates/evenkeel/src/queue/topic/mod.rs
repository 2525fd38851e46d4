//! The operator's handle on a topic: its jobs on all shards, independent of their type.
//!
//! ```
//! # use evenkeel::queue::topic::JobState;
//! # async fn look(keel: &evenkeel::Keel) -> Result<(), evenkeel::queue::QueueError> {
//! let mail = keel.topic("mail").await?;
//! let stats = mail.stats().await?;
//! println!("{} wait, {} are dead letters", stats.waiting(), stats.dead());
//! for seen in mail.peek(JobState::Dead, None, 20).await?.jobs {
//!     println!("{}", seen.id);
//! }
//! let done = mail.redrive("after the fix of 42").per_second(100).run().await?;
//! println!("{} redriven", done.taken);
//! # Ok(())
//! # }
//! ```

mod add;
pub mod alert;
mod change;
mod grow;
mod page;
mod purge;
mod redrive;
mod stats;
mod why;

pub use add::NewTopicJob;
pub use evenkeel_protocol::queue::steps::{Amended, Found, Listed, Preview, Rescheduled, Revoked, State};
pub use evenkeel_protocol::queue::steps::{Stats, Totals};
pub use evenkeel_protocol::rejection::{Listing, Rejection};
pub use grow::Grown;
pub(super) use grow::carry_left_behind;
pub use page::{JobState, Page, PreviewPage, Previewed, Seen};
pub use redrive::{DryRun, Filter, RedriveReport, TopicRedrive};
pub use stats::TopicStats;
pub use why::Why;

use super::queue::Core;
use super::store::QueueStore;
use super::store::queues::Queues;
use crate::queue::settings::registration::set_limits;
use crate::queue::sharding::router::Router;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Tried, guard};
use evenkeel_protocol::past::in_seconds;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::JobId;
use evenkeel_protocol::queue::register::TopicRecord;
use evenkeel_protocol::queue::steps::{Limits, Pause, Resume};
use std::fmt;
use std::sync::Arc;

/// The operator's handle on one topic. Cheap to clone.
///
/// An operation on many jobs or all shards runs shard by shard, with at most 500 items per call. If it fails, the completed part remains in
/// effect; every operation may be repeated, and the repetition continues where the first call stopped.
#[derive(Clone)]
pub struct Topic {
    store: QueueStore,
    name: Arc<str>,
    router: Arc<Router>,
    record: TopicRecord,
    clock: Clock,
    /// The rows that decide about the topic's jobs.
    #[cfg(feature = "sql")]
    rows: Option<Arc<super::sql::JobRows>>,
}

impl fmt::Debug for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Topic").field("name", &self.name).field("shards", &self.shards()).finish_non_exhaustive()
    }
}

impl Topic {
    /// The topic called `name`, if a program has opened a queue of this name.
    pub(crate) async fn open(queues: &Queues, name: &str) -> Result<Self, QueueError> {
        let store = queues.store();
        match store.topics().get(name).await? {
            Some(record) => Self::registered(store, name, record, &queues.clock).await,
            None => Err(QueueError::UnknownTopic { topic: name.to_owned() }),
        }
    }

    /// All topics, by name.
    pub(crate) async fn all(queues: &Queues) -> Result<Listing<Self, QueueError>, QueueError> {
        let store = queues.store();
        let registered = store.topics().all().await?;
        let mut topics = Listing { found: Vec::new(), rejected: registered.rejected };
        for (name, record) in registered.found {
            let topic = Self::registered(store.clone(), &name, record, &queues.clock).await;
            topics.note(name, topic, QueueError::is_retryable)?;
        }
        Ok(topics)
    }

    async fn registered(store: QueueStore, name: &str, record: TopicRecord, clock: &Clock) -> Result<Self, QueueError> {
        let router = Arc::new(Router::open(&store, name, record.shards, clock).await?);
        Ok(Self {
            store,
            name: name.into(),
            router,
            record,
            clock: clock.clone(),
            #[cfg(feature = "sql")]
            rows: None,
        })
    }

    /// The topic of an open queue.
    pub(super) fn of<T>(core: &Core<T>) -> Self {
        Self {
            store: core.store.clone(),
            name: Arc::clone(&core.name),
            router: Arc::clone(&core.router),
            record: core.record.clone(),
            clock: core.clock.clone(),
            #[cfg(feature = "sql")]
            rows: core.rows.clone(),
        }
    }

    /// The same topic with the database whose rows decide about its jobs ([`Durability::Sql`](super::Durability)). Without the database,
    /// operations that change such a topic fail with [`QueueError::NeedsDatabase`], and lists show only the state in Redis. Has no effect
    /// on a topic without rows.
    #[cfg(feature = "sql")]
    #[must_use]
    pub fn sql<DB: crate::sql::Database>(mut self, pool: &sqlx::Pool<DB>) -> Self {
        if self.record.row_decides && self.rows.is_none() {
            let table = Arc::new(super::sql::SqlTable(DB::erased(pool)));
            let (name, store, router) = (Arc::clone(&self.name), self.store.clone(), Arc::clone(&self.router));
            self.rows = Some(Arc::new(super::sql::JobRows::new(table, name, store, router, self.horizon())));
        }
        self
    }

    /// The horizon within which its programs put jobs into the store.
    #[cfg(feature = "sql")]
    fn horizon(&self) -> Option<std::time::Duration> {
        self.record.horizon_ms.filter(|_| guard("sql_operator_horizon")).map(std::time::Duration::from_millis)
    }

    /// Whether rows in a SQL database decide about its jobs, and this handle does not have that database (`sql`). Its lists and counts then
    /// show only the state in Redis, and operations that change the topic fail.
    #[must_use]
    pub fn needs_database(&self) -> bool {
        #[cfg(feature = "sql")]
        if self.rows.is_some() {
            return false;
        }
        self.record.row_decides && guard("sql_needs_database")
    }

    /// Rejects a change of the store alone where rows decide.
    fn check_rows(&self) -> Result<(), QueueError> {
        if self.needs_database() {
            return Err(QueueError::NeedsDatabase { topic: self.name.to_string() });
        }
        Ok(())
    }

    /// The name of the topic.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of its shards, as far as this process knows.
    #[must_use]
    pub fn shards(&self) -> u16 {
        self.router.shards().count()
    }

    /// The id of the codec that encodes its bodies ([`Codec::id`](evenkeel_protocol::codec::Codec::id)): 1 is JSON.
    #[must_use]
    pub fn codec(&self) -> u8 {
        self.record.codec
    }

    /// Everything known about one job: its state, its body, its errors with their times, and its redrives. For an ended job, how and when
    /// it ended, while its completion record exists. `None`: the job is unknown, or its completion record has expired.
    ///
    /// # Errors
    /// [`QueueError::Unreadable`] if this program does not support the format of the job's record.
    /// [`QueueError::NeedsDatabase`] if Redis does not have the job and rows may have it.
    pub async fn job(&self, id: JobId) -> Result<Option<Found>, QueueError> {
        let found = self.router.job(id).await?;
        #[cfg(feature = "sql")]
        if let Some(rows) = &self.rows {
            return rows.find(id, found).await;
        }
        if found.is_none() {
            self.check_rows()?;
        }
        Ok(found)
    }

    /// Pauses claims on all shards: until [`resume`](Self::resume), or until a time in ms since 1970. Running jobs continue, and new jobs
    /// are accepted. Idempotent.
    ///
    /// A topic with rows stores the pause as a row, too, so that it survives a flush of Redis: no job starts until the store is paused
    /// again.
    ///
    /// # Errors
    /// [`QueueError::Link`], [`QueueError::Database`], [`QueueError::NeedsDatabase`]. [`QueueError::Invalid`]: a time in seconds.
    pub async fn pause(&self, until: Option<u64>) -> Result<(), QueueError> {
        if let Some(reason) = until.and_then(in_seconds) {
            return Err(QueueError::Invalid(reason));
        }
        self.check_rows()?;
        #[cfg(feature = "sql")]
        if let Some(rows) = &self.rows {
            rows.pause(Some(until.unwrap_or(u64::MAX))).await?;
        }
        let mut tried = Tried::unless(QueueError::is_retryable);
        for shard in self.router.look().await?.iter() {
            tried.note(self.store.run(shard, &Pause(until)).await)?;
        }
        tried.finish()
    }

    /// Ends a pause and wakes the consumers.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    pub async fn resume(&self) -> Result<(), QueueError> {
        self.check_rows()?;
        #[cfg(feature = "sql")]
        if let Some(rows) = &self.rows {
            rows.pause(None).await?;
        }
        let mut tried = Tried::unless(QueueError::is_retryable);
        for shard in self.router.look().await?.iter() {
            tried.note(self.store.run(shard, &Resume).await)?;
        }
        tried.finish()
    }

    /// Sets the limits of the topic, divided evenly among its shards. A program that opens the topic with limits replaces them.
    ///
    /// # Errors
    /// [`QueueError::Invalid`] for a topic with rows, because limits do not count its jobs: nothing was changed. [`QueueError::Link`].
    pub async fn set_limits(&self, limits: Limits) -> Result<(), QueueError> {
        if self.record.row_decides && guard("sql_refuses_limits") {
            return Err(QueueError::Invalid(format!(
                "limits do not apply to topic {}, because rows decide about its jobs; pause the topic, or reduce its senders",
                self.name
            )));
        }
        set_limits(&self.store, limits, &self.router.look().await?).await
    }

    /// The estimated time of the store, in ms since 1970.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.store.now_ms()
    }
}
