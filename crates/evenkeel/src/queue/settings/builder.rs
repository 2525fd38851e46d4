//! Opening a queue.

use super::registration::{Registration, set_limits};
use super::{Durability, Settings, WhenFull, server};
use crate::keel::Keel;
use crate::queue::metrics::{QueueMetrics, conflict};
use crate::queue::queue::{Core, Queue};
use crate::queue::sharding::router::Router;
#[cfg(feature = "sql")]
use crate::queue::sql::{JobTable, Judge, SqlTable, keep_sweeping};
use crate::queue::store::QueueStore;
#[cfg(feature = "sql")]
use evenkeel_link::support::Background;
use evenkeel_link::support::guard;
use evenkeel_protocol::codec::json::Json;
use evenkeel_protocol::codec::{Codec, check_id};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::Retries;
use evenkeel_protocol::queue::register::TopicRecord;
use evenkeel_protocol::queue::retry_delay::{RetryDelay, ms};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// What may be said about a queue before it is opened. All of it has defaults.
#[must_use = "a builder does nothing until `build`"]
pub struct QueueBuilder<T, C = Json> {
    keel: Keel,
    name: String,
    settings: Settings,
    codec: C,
    #[cfg(feature = "sql")]
    table: Option<Arc<dyn JobTable>>,
    #[cfg(feature = "sql")]
    horizon: Option<Duration>,
    body: PhantomData<fn() -> T>,
}

impl Keel {
    /// Begins a queue called `name`: 1 to 64 letters, digits, `-`, `_` or `.`, the same in every process of the fleet.
    ///
    /// A name is a kind of work. The store remembers each for good, with its pause, its limits and its shards, so put a tenant or a user
    /// into the job instead.
    pub fn queue<T>(&self, name: &str) -> QueueBuilder<T> {
        QueueBuilder {
            keel: self.clone(),
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

impl<T, C> QueueBuilder<T, C> {
    /// Over how many shards the jobs are spread: hash slots of a cluster, and scripts that run apart. Default: as many as the
    /// topic has already, else 1. Opening the topic does not change it: whoever names a number that the topic never had is
    /// refused. [`Topic::grow`](crate::queue::topic::Topic::grow) changes it.
    pub fn shards(mut self, shards: u16) -> Self {
        self.settings.shards = Some(shards);
        self
    }

    /// How many attempts follow a failed first one, or [`Retries::Unlimited`]. Default 5. A job may have its own.
    pub fn retries(mut self, retries: impl Into<Retries>) -> Self {
        self.settings.retries = retries.into();
        self
    }

    /// How long to wait between attempts. Default: a random time below 2 s that doubles with every failure, up to an hour. A
    /// job may have its own, and a handler may say it itself.
    pub fn retry_delay(mut self, delay: RetryDelay) -> Self {
        self.settings.retry_delay = delay;
        self
    }

    /// A job that is out of retries is counted and gone, instead of becoming a dead letter.
    pub fn discard_exhausted(mut self) -> Self {
        self.settings.discard_exhausted = true;
        self
    }

    /// How long a job stays with a worker that has fallen silent. Default 30 s. It does not bound how long a handler may take:
    /// the consumer extends its leases while it lives.
    pub fn visibility(mut self, lease: Duration) -> Self {
        self.settings.visibility = lease;
        self
    }

    /// For how long after its end a job with a caller's id is remembered, so that sending it again does not run it again.
    /// Default 24 h.
    pub fn id_window(mut self, window: Duration) -> Self {
        self.settings.id_window = window;
        self
    }

    /// Larger encoded bodies are refused with [`QueueError::TooLarge`]. Default 1 MiB.
    pub fn body_bytes_max(mut self, bytes: usize) -> Self {
        self.settings.body_bytes_max = bytes;
        self
    }

    /// At most so many jobs wait and run; more are refused, or wait for room ([`when_full`](Self::when_full)). Spread evenly
    /// over the shards. Default: no limit, or what was last set.
    pub fn jobs_max(mut self, jobs: u64) -> Self {
        self.settings.limits.jobs_max = Some(jobs);
        self
    }

    /// Like [`jobs_max`](Self::jobs_max), for the bytes of all jobs, dead letters included.
    pub fn bytes_max(mut self, bytes: u64) -> Self {
        self.settings.limits.bytes_max = Some(bytes);
        self
    }

    /// What happens to a job that finds the queue full. Default: refused at once.
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.settings.when_full = when_full;
        self
    }

    /// Who must have taken a job before its sender is told that it is accepted. Default [`Durability::Memory`].
    pub fn durability(mut self, durability: Durability) -> Self {
        self.settings.durability = durability;
        self
    }

    /// Lets rows in the database of `pool` judge the jobs ([`Durability::Sql`]): a job is accepted when its row is there, runs only if
    /// the row agrees, and comes back by itself from the row whatever becomes of Redis (or of the embedded store, whose jobs so
    /// survive the process). [`migrate`](crate::sql::migrate) must have run.
    ///
    /// Every process that opens the queue must say this, with the same database, which is also the one of the units of work that send
    /// to it. A delivery then costs two statements. Back-pressure (`jobs_max`, `bytes_max`) does not count such jobs.
    /// **Not kept** in the row: how often a job has failed. A job that the store has lost begins its attempts anew, a dead letter too.
    #[cfg(feature = "sql")]
    pub fn sql<DB: crate::sql::Database>(mut self, pool: &sqlx::Pool<DB>) -> Self {
        self.table = Some(Arc::new(SqlTable(pool.clone())));
        self.settings.durability = Durability::Sql;
        self
    }

    /// Jobs that are due later than this from now are only rows, and take no room in Redis; they are brought there as their time
    /// comes. At least a minute. Default: all jobs are in the store. For [`sql`](Self::sql) only.
    #[cfg(feature = "sql")]
    pub fn horizon(mut self, span: Duration) -> Self {
        self.horizon = Some(span);
        self
    }

    /// Opens the queue on a Redis that may evict keys, which loses jobs without a word.
    pub fn allow_eviction(mut self) -> Self {
        self.settings.may_evict = true;
        self
    }

    /// How bodies become bytes. Default [`Json`].
    ///
    /// Each job says which codec wrote it, so the codec of a queue may change: what Evenkeel's other codecs wrote is read as such, as far
    /// as the type allows it; what cannot be read is a dead letter that names the codec. Opening a topic with another codec than before
    /// is logged and counted (`evenkeel_queue_conflicts_total`). A codec of your own has an id from 64 to 127.
    pub fn codec<D: Codec<T>>(self, codec: D) -> QueueBuilder<T, D> {
        QueueBuilder {
            keel: self.keel,
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

impl<T: Send + Sync + 'static, C: Codec<T>> QueueBuilder<T, C> {
    /// Opens the queue: looks at the server, enters the topic in the register, sets its limits.
    ///
    /// # Errors
    /// [`QueueError::Settings`]: one sentence that says what cannot work and what to change, among them: the server evicts
    /// keys, it cannot do the durability that was asked for, the topic has another number of shards.
    /// [`QueueError::Link`]: the server could not be asked.
    pub async fn build(self) -> Result<Queue<T>, QueueError> {
        let settings = self.settings;
        settings.check(&self.name)?;
        #[cfg(feature = "sql")]
        check_sql(&self.name, &settings, self.table.is_some(), self.horizon)?;
        if let Err(reason) = check_id(&self.codec, guard("queue_codec_id_checked")) {
            return Err(QueueError::Settings { queue: self.name, reason });
        }
        let store = self.keel.queue_store();
        server::check(&store, &self.name, &settings).await?;
        let wanted = TopicRecord {
            shards: settings.shards.unwrap_or(1),
            codec: self.codec.id(),
            retries: match settings.retries {
                Retries::Limited(retries) => Some(retries),
                Retries::Unlimited => None,
            },
            discard_exhausted: settings.discard_exhausted,
            id_window_ms: ms(settings.id_window),
            #[cfg(feature = "sql")]
            is_judged: self.table.is_some(),
            #[cfg(not(feature = "sql"))]
            is_judged: false,
            #[cfg(feature = "sql")]
            horizon_ms: self.horizon.map(ms),
            #[cfg(not(feature = "sql"))]
            horizon_ms: None,
        };
        let held = enter(&store, &self.name, &wanted).await?;
        let router = Arc::new(Router::open(&store, &self.name, held.shards, self.keel.clock()).await?);
        let shards = router.shards();
        if let Some(wanted) = settings.shards
            && !shards.topology().knows(wanted)
        {
            let reason = format!(
                "it has {0} shards; say `shards({0})` or nothing, or let it grow with `evenkeel queue grow`",
                shards.count()
            );
            return Err(QueueError::Settings { queue: self.name, reason });
        }
        set_limits(&store, &settings, &shards).await?;
        let name: Arc<str> = self.name.into();
        #[cfg(feature = "sql")]
        let judge = self.table.map(|table| {
            Arc::new(Judge::new(table, Arc::clone(&name), store.clone(), Arc::clone(&router), self.horizon))
        });
        Ok(Queue::new(Core {
            metrics: Arc::new(QueueMetrics::register(&name)),
            name,
            #[cfg(feature = "sql")]
            _sweeper: judge.clone().map(|judge| {
                Background::spawn("queue sweep", self.keel.clock().clone(), move || keep_sweeping(Arc::clone(&judge)))
            }),
            #[cfg(feature = "sql")]
            judge,
            registration: Registration::new(self.keel.clock()),
            store,
            router,
            record: held,
            codec: Arc::new(self.codec),
            settings,
            clock: self.keel.clock().clone(),
            keel: self.keel,
        }))
    }
}

/// Enters the topic in the register; says so if its programs do not agree about it.
async fn enter(store: &QueueStore, queue: &str, wanted: &TopicRecord) -> Result<TopicRecord, QueueError> {
    if let Some(held) = store.topics().get(queue).await?
        && held.codec != wanted.codec
    {
        tracing::warn!(
            queue,
            was = held.codec,
            is = wanted.codec,
            "the topic is opened with another codec than before; bodies of both codecs wait in it until all programs use one"
        );
        conflict(queue, "codec");
    }
    let held = store.topics().register(queue, wanted).await?;
    if held.is_judged && !wanted.is_judged {
        let reason = "its jobs are rows in a SQL database, which decides about them; say `sql(&pool)` with that database, as its \
                      other programs do";
        return Err(QueueError::Settings { queue: queue.to_owned(), reason: reason.to_owned() });
    }
    Ok(held)
}

/// Refuses what cannot work with rows, in one sentence.
#[cfg(feature = "sql")]
fn check_sql(queue: &str, settings: &Settings, has_table: bool, horizon: Option<Duration>) -> Result<(), QueueError> {
    let refuse = |reason: &str| Err(QueueError::Settings { queue: queue.to_owned(), reason: reason.to_owned() });
    if settings.durability == Durability::Sql && !has_table {
        return refuse("`Durability::Sql` needs a database; say `sql(&pool)`");
    }
    if horizon.is_some() && !has_table {
        return refuse("a `horizon` needs rows to keep the jobs beyond it; say `sql(&pool)`");
    }
    if horizon.is_some_and(|horizon| horizon < Duration::from_secs(60)) {
        return refuse("a `horizon` must be at least a minute: jobs are brought into the store as their time comes");
    }
    Ok(())
}
