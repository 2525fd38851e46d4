//! [`QueueBuilder`]: opens a queue.

use super::registration::{Registration, set_limits};
use super::{Durability, Settings, WhenFull, server};
use crate::queue::metrics::{QueueMetrics, conflict};
use crate::queue::queue::{Core, Queue};
use crate::queue::sharding::router::Router;
#[cfg(feature = "sql")]
use crate::queue::sql::{JobRows, JobTable, SqlTable, keep_sweeping};
use crate::queue::store::QueueStore;
use crate::queue::store::queues::Queues;
#[cfg(feature = "sql")]
use evenkeel_link::support::Background;
use evenkeel_link::support::{guard, ms};
use evenkeel_protocol::codec::json::Json;
use evenkeel_protocol::codec::{Codec, check_id};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::Retries;
use evenkeel_protocol::queue::register::TopicRecord;
use evenkeel_protocol::queue::retry_delay::RetryDelay;
use evenkeel_protocol::queue::steps::Limits;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// The settings of a queue, before it is opened. Every setting has a default. They stand in sections below: jobs, size and durability.
/// [`open`](Self::open) is the last call.
#[must_use = "a builder does nothing until `open`"]
pub struct QueueBuilder<T, C = Json> {
    queues: Arc<Queues>,
    name: String,
    settings: Settings,
    codec: C,
    #[cfg(feature = "sql")]
    table: Option<Arc<dyn JobTable>>,
    #[cfg(feature = "sql")]
    horizon: Option<Duration>,
    body: PhantomData<fn() -> T>,
}

impl<T> QueueBuilder<T> {
    pub(crate) fn new(queues: Arc<Queues>, name: &str) -> Self {
        Self {
            queues,
            name: name.to_owned(),
            settings: Settings::default(),
            codec: Json,
            #[cfg(feature = "sql")]
            table: None,
            #[cfg(feature = "sql")]
            horizon: None,
            body: PhantomData,
        }
    }
}

/// # Jobs
///
/// How a job is attempted, how long its records live, and how its body is encoded. A job may override the first two.
impl<T, C> QueueBuilder<T, C> {
    setters! {
        /// How many attempts follow a failed first one, or [`Retries::Unlimited`]. Default 5. A job may override it.
        pub fn retries(retries: impl Into<Retries>) => settings.retries = retries.into();

        /// The delay between attempts. Default: exponential backoff with full jitter, a random time below a bound of 2 s that doubles with
        /// every failure, up to an hour. A job may override it, and a handler may return a delay of its own.
        pub fn retry_delay(delay: RetryDelay) => settings.retry_delay = delay;

        /// Discards a job that is out of retries, and counts it, instead of making it a dead letter.
        pub fn discard_exhausted() => settings.discard_exhausted = true;

        /// The visibility timeout: how long a job stays leased to a worker that has stopped sending heartbeats. Default 30 s. It does not
        /// limit how long a handler may run, because a live consumer extends its leases.
        pub fn visibility(lease: Duration) => settings.visibility = lease;

        /// How long the completion record of a job with a caller's id is kept after its end. While it exists, sending the job again does not
        /// run it again. Default 24 h.
        pub fn id_window(window: Duration) => settings.id_window = window;

        /// The largest encoded body; larger ones are rejected with [`QueueError::TooLarge`]. Default 1 MiB.
        pub fn body_bytes_max(bytes: usize) => settings.body_bytes_max = bytes;
    }

    /// The codec of the bodies. Default [`Json`].
    ///
    /// Each job records the codec that encoded it, so the codec of a queue may change: a consumer decodes a body of another of Evenkeel's
    /// codecs with that codec, if the type supports it. A job whose body cannot be decoded becomes a dead letter that names the codec.
    /// Opening a topic with another codec than before is logged and counted (`evenkeel_queue_conflicts_total`). A custom codec has an id
    /// from 64 to 127.
    pub fn codec<D: Codec<T>>(self, codec: D) -> QueueBuilder<T, D> {
        QueueBuilder {
            queues: self.queues,
            name: self.name,
            settings: self.settings,
            codec,
            #[cfg(feature = "sql")]
            table: self.table,
            #[cfg(feature = "sql")]
            horizon: self.horizon,
            body: PhantomData,
        }
    }
}

/// # Size
///
/// How many jobs the queue takes, and over how many shards they are spread.
impl<T, C> QueueBuilder<T, C> {
    setters! {
        /// The number of shards of the topic. Each shard is one hash slot of a cluster, with script calls of its own. Default: the number that
        /// the topic already has, else 1. Opening a topic does not change its number of shards: [`open`](Self::open) fails for a number that
        /// the topic never had. [`Topic::grow`](crate::queue::topic::Topic::grow) changes it.
        pub fn shards(shards: u16) => settings.shards = Some(shards);

        /// The maximum number of jobs that wait or run. The queue rejects further jobs, or delays their senders
        /// ([`when_full`](Self::when_full)). The limit is divided evenly among the shards, and
        /// a remainder is dropped; it must be at least the number of shards. Default: the limit that was set last, else none.
        pub fn jobs_max(jobs: u64) => settings.limits.jobs_max = Some(jobs);

        /// Like [`jobs_max`](Self::jobs_max), for the bytes of all jobs, including dead letters.
        pub fn bytes_max(bytes: u64) => settings.limits.bytes_max = Some(bytes);

        /// What happens to a job that is sent while the queue is full. Default: it is rejected at once.
        pub fn when_full(when_full: WhenFull) => settings.when_full = when_full;
    }
}

/// # Durability
///
/// Which failures an accepted job survives.
impl<T, C> QueueBuilder<T, C> {
    /// Which copies of a job must be confirmed before the queue accepts it. Default [`Durability::Memory`].
    pub fn durability(mut self, durability: Durability) -> Self {
        self.settings.durability = durability;
        self
    }

    /// Makes rows in the database of `pool` the source of truth for the jobs ([`Durability::Sql`]): a job is accepted once its row is
    /// written, it runs only if its row permits it, and a sweep restores from its row a job that Redis has lost (or the embedded store,
    /// whose jobs therefore survive the process). [`migrate`](crate::sql::migrate) must have run.
    ///
    /// Every process that opens the queue must set the same database, which must also be the database of the units of work that send to
    /// the queue. Each delivery then costs two statements. Back-pressure (`jobs_max`, `bytes_max`) does not count such jobs.
    /// **Not kept** in the row: snoozes, progress, errors before the last one, and a crash that no further attempt has followed. A job that
    /// the sweep restores does not have them.
    #[cfg(feature = "sql")]
    pub fn sql<DB: crate::sql::Database>(mut self, pool: &sqlx::Pool<DB>) -> Self {
        self.table = Some(Arc::new(SqlTable(DB::erased(pool))));
        self.settings.durability = Durability::Sql;
        self
    }

    setters! {
        /// Jobs that are due later than this from now exist only as rows and use no memory in Redis; the sweep puts them into the store as
        /// their due time approaches. At least a minute. Default: all jobs are in the store. For [`sql`](Self::sql) only.
        #[cfg(feature = "sql")]
        pub fn horizon(span: Duration) => horizon = Some(span);

        /// Opens the queue on a Redis that may evict keys. Eviction loses jobs without an error.
        pub fn allow_eviction() => settings.may_evict = true;
    }
}

impl<T: Send + Sync + 'static, C: Codec<T>> QueueBuilder<T, C> {
    /// Opens the queue: checks the server, registers the topic, sets its limits.
    ///
    /// # Errors
    /// [`QueueError::Settings`]: one sentence that names the invalid setting and the change to make; for example, the server evicts keys,
    /// the server does not support the durability, or the topic has another number of shards.
    /// [`QueueError::Link`]: the server could not be reached.
    pub async fn open(self) -> Result<Queue<T>, QueueError> {
        let settings = self.settings;
        settings.check(&self.name)?;
        #[cfg(feature = "sql")]
        check_sql(&self.name, &settings, self.table.is_some(), self.horizon)?;
        if let Err(reason) = check_id(&self.codec, guard("queue_codec_id_checked")) {
            return Err(QueueError::Settings { queue: self.name, reason });
        }
        let store = self.queues.store();
        server::check(&store, &self.name, &settings).await?;
        let requested = TopicRecord {
            shards: settings.shards.unwrap_or(1),
            codec: self.codec.id(),
            retries: match settings.retries {
                Retries::Limited(retries) => Some(retries),
                Retries::Unlimited => None,
            },
            discard_exhausted: settings.discard_exhausted,
            id_window_ms: ms(settings.id_window),
            #[cfg(feature = "sql")]
            row_decides: self.table.is_some(),
            #[cfg(not(feature = "sql"))]
            row_decides: false,
            #[cfg(feature = "sql")]
            horizon_ms: self.horizon.map(ms),
            #[cfg(not(feature = "sql"))]
            horizon_ms: None,
        };
        let held = enter(&store, &self.name, &requested).await?;
        let router = Arc::new(Router::open(&store, &self.name, held.shards, &self.queues.clock).await?);
        let shards = router.shards();
        if let Some(requested) = settings.shards
            && !shards.topology().knows(requested)
        {
            let reason = format!(
                "it has {0} shards; set `shards({0})`, or leave it unset, or grow the topic with `evenkeel queue grow`",
                shards.count()
            );
            return Err(QueueError::Settings { queue: self.name, reason });
        }
        if settings.limits != Limits::default() {
            set_limits(&store, settings.limits, &shards).await?;
        }
        let name: Arc<str> = self.name.into();
        #[cfg(feature = "sql")]
        let rows = self.table.map(|table| {
            Arc::new(JobRows::new(table, Arc::clone(&name), store.clone(), Arc::clone(&router), self.horizon))
        });
        Ok(Queue::new(Core {
            metrics: Arc::new(QueueMetrics::register(&name)),
            name,
            #[cfg(feature = "sql")]
            _sweeper: rows.clone().map(|rows| {
                Background::spawn("queue sweep", self.queues.clock.clone(), move || keep_sweeping(Arc::clone(&rows)))
            }),
            #[cfg(feature = "sql")]
            rows,
            registration: Registration::new(&self.queues.clock),
            store,
            router,
            record: held,
            codec: Arc::new(self.codec),
            settings,
            clock: self.queues.clock.clone(),
            queues: self.queues,
        }))
    }
}

/// Registers the topic; logs and counts a codec that differs from the registered one.
async fn enter(store: &QueueStore, queue: &str, requested: &TopicRecord) -> Result<TopicRecord, QueueError> {
    if let Some(held) = store.topics().get(queue).await?
        && held.codec != requested.codec
    {
        tracing::warn!(
            queue,
            was = held.codec,
            is = requested.codec,
            "the topic is opened with another codec than before; it holds bodies of both codecs until all programs use the same one"
        );
        conflict(queue, "codec");
    }
    let held = store.topics().register(queue, requested).await?;
    if held.row_decides && !requested.row_decides {
        let reason = "its jobs are rows in a SQL database, which decides about them; open it with `sql(&pool)` and that database, as \
                      its other programs do";
        return Err(QueueError::Settings { queue: queue.to_owned(), reason: reason.to_owned() });
    }
    Ok(held)
}

/// Rejects settings that are invalid with or without rows.
#[cfg(feature = "sql")]
fn check_sql(queue: &str, settings: &Settings, has_table: bool, horizon: Option<Duration>) -> Result<(), QueueError> {
    let refuse = |reason: &str| Err(QueueError::Settings { queue: queue.to_owned(), reason: reason.to_owned() });
    if settings.durability == Durability::Sql && !has_table {
        return refuse("`Durability::Sql` requires a database; set `sql(&pool)`");
    }
    if horizon.is_some() && !has_table {
        return refuse("`horizon` requires a database, which holds the jobs beyond it; set `sql(&pool)`");
    }
    if horizon.is_some_and(|horizon| horizon < Duration::from_secs(60)) {
        return refuse(
            "`horizon` is below a minute, the time that the sweep needs to put jobs into the store; choose a minute or more",
        );
    }
    Ok(())
}
