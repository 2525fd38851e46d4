//! What the processes share: a database with the truth in it, a Redis and a broker that can be killed.

use super::super::rig::{Sql, pool};
use super::faults::Scale;
use async_nats::jetstream;
use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel::queue::Queue;
use evenkeel::sql::migrate;
use evenkeel::sql::sink::{Confirmed, Envelope, NatsSink, Sink, SinkError, Sinks, StreamSink};
use serde::{Deserialize, Serialize};
use sqlx::Pool;
use std::time::{Duration, SystemTime};
use testkit::eventually;
use testkit::park;
use testkit::servers::{Nats, Redis, RedisOptions};

/// The stream of the broker, and what its subjects begin with. Topics that begin like this go to the broker, others to Redis.
pub(super) const BROKER: &str = "broker.";
pub(super) const BROKER_STREAM: &str = "SIM";

/// The header that says which process sent a message.
pub(super) const CARRIER: &str = "carrier";

/// The header of an unordered message that says when its transaction noted it.
pub(super) const NOTED: &str = "noted";

/// The truth: what every transaction writes together with its effects.
const TABLES: [&str; 7] = [
    "CREATE TABLE ledger (work VARCHAR(40) NOT NULL PRIMARY KEY, process BIGINT NOT NULL)",
    "CREATE TABLE accounts (name VARCHAR(40) NOT NULL PRIMARY KEY, units BIGINT NOT NULL, version BIGINT NOT NULL)",
    "CREATE TABLE jobs (name VARCHAR(40) NOT NULL PRIMARY KEY, body BIGINT NULL)",
    "CREATE TABLE nameless (id VARCHAR(40) NOT NULL PRIMARY KEY, body BIGINT NOT NULL)",
    "CREATE TABLE ordering_keys (name VARCHAR(40) NOT NULL PRIMARY KEY, last_place BIGINT NOT NULL)",
    "CREATE TABLE said (ordering_key VARCHAR(40) NOT NULL, place BIGINT NOT NULL, number BIGINT NOT NULL, PRIMARY KEY (ordering_key, place))",
    "CREATE TABLE loose (number BIGINT NOT NULL PRIMARY KEY, topic VARCHAR(40) NOT NULL)",
];

/// The configuration of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Open {
    pub(super) database: String,
    pub(super) redis: String,
    pub(super) broker: String,
    pub(super) seed: u64,
    /// Its number; a process that takes the place of a killed one has a new number.
    pub(super) process: u64,
    pub(super) tasks: u64,
    pub(super) accounts: u64,
    pub(super) jobs: u64,
    pub(super) ordering_keys: u64,
    pub(super) report_every: u64,
}

/// The servers, and the driver's own connections.
pub(super) struct Servers<DB: Sql> {
    pub(super) open: Open,
    pub(super) pool: Pool<DB>,
    pub(super) redis: Redis,
    pub(super) broker: Nats,
    _database: park::Database,
}

impl<DB: Sql> Servers<DB> {
    pub(super) async fn open(scale: &Scale) -> Self {
        let safe = RedisOptions::new().append_only();
        let (redis, broker, database) = tokio::join!(Redis::start(safe), Nats::start(), DB::fresh());
        let (redis, broker) = (redis.unwrap(), broker.unwrap());
        let pool = pool::<DB>(&database.url, 8).await;
        migrate(&pool).await.unwrap();
        let Scale { seed, tasks, accounts, jobs, ordering_keys, report_every, .. } = *scale;
        let open = Open {
            database: database.url.clone(),
            redis: redis.url(),
            broker: broker.url(),
            seed,
            process: 0,
            tasks,
            accounts,
            jobs,
            ordering_keys,
            report_every,
        };
        let servers = Self { open, pool, redis, broker, _database: database };
        servers.fill().await;
        servers
    }

    async fn fill(&self) {
        let mut connection = self.pool.acquire().await.unwrap();
        for table in TABLES {
            DB::run(&mut connection, table).await.unwrap();
        }
        let Open { accounts, jobs, ordering_keys, .. } = self.open;
        for (table, columns, values, count) in [
            ("accounts", "name, units, version", "0, 1", accounts),
            ("jobs", "name, body", "NULL", jobs),
            ("ordering_keys", "name, last_place", "0", ordering_keys),
        ] {
            let rows: Vec<String> = (0..count).map(|row| format!("('{}', {values})", name(table, row))).collect();
            let insert = format!("INSERT INTO {table} ({columns}) VALUES {}", rows.join(", "));
            DB::run(&mut connection, &insert).await.unwrap();
        }
        let context = jetstream::new(async_nats::connect(&self.open.broker).await.unwrap());
        let stream = jetstream::stream::Config {
            name: BROKER_STREAM.to_owned(),
            subjects: vec![format!("{BROKER}>")],
            // Longer than a message can be late here.
            duplicate_window: Duration::from_secs(600),
            ..Default::default()
        };
        context.create_stream(stream).await.unwrap();
    }

    pub(super) async fn run(&self, sql: &str) {
        DB::run(&mut self.pool.acquire().await.unwrap(), sql).await.unwrap();
    }

    pub(super) async fn number(&self, sql: &str) -> u64 {
        let number = DB::number(&mut self.pool.acquire().await.unwrap(), sql).await.unwrap();
        number.map_or(0, |number| u64::try_from(number).unwrap())
    }

    pub(super) async fn pairs(&self, sql: &str) -> Vec<(String, i64)> {
        DB::pairs(&mut self.pool.acquire().await.unwrap(), sql).await.unwrap()
    }

    pub(super) async fn shop(&self) -> Shop {
        Shop::open(&self.open).await
    }

    /// Lets the driver's connections end before their servers do.
    pub(super) async fn close(self) {
        self.pool.close().await;
    }
}

/// The name of a row of `table`. The names of accounts contain their cache.
pub(super) fn name(table: &str, row: u64) -> String {
    format!("{}{row}", &table[..1])
}

/// Whether the account is in the cache whose reads are fresh.
pub(super) fn is_strong(account: u64) -> bool {
    account.is_multiple_of(4)
}

/// Units and version of an account.
pub(super) type Account = (i64, u64);

/// The resources of a process.
pub(super) struct Shop {
    pub(super) keel: Keel,
    pub(super) plain: Cache<String, Account>,
    pub(super) strong: Cache<String, Account>,
    pub(super) queue: Queue<i64>,
    pub(super) stream: StreamSink,
    pub(super) sinks: Sinks,
}

impl Shop {
    pub(super) async fn open(open: &Open) -> Self {
        // The successor of a killed process may start while Redis or the broker is restarting.
        let keel = eventually("a Redis to begin with", async || Keel::connect(&open.redis).await.ok()).await.unwrap();
        let cache =
            |name: &str| keel.cache(name).ttl(Duration::from_secs(3_600)).version(|account: &Account| account.1);
        let plain = cache("plain").open().await.unwrap();
        let strong = cache("strong").strong().open().await.unwrap();
        let queue = eventually("a queue", async || keel.queue("jobs").shards(1).open().await.ok()).await.unwrap();
        let stream = StreamSink::new(&keel);
        let broker = eventually("a broker", async || NatsSink::connect(&open.broker).await.ok()).await.unwrap();
        let process = open.process;
        let sinks = Sinks::to(Signed { sink: stream.clone(), process }).route(BROKER, Signed { sink: broker, process });
        Self { keel, plain, strong, queue, stream, sinks }
    }

    /// The cache that an account is in.
    pub(super) fn cache(&self, account: u64) -> &Cache<String, Account> {
        if is_strong(account) { &self.strong } else { &self.plain }
    }
}

/// A sink that writes its process's number on everything, so that a duplicate names its sender.
struct Signed<S> {
    sink: S,
    process: u64,
}

impl<S: Sink> Sink for Signed<S> {
    async fn publish(&self, message: &Envelope) -> Result<Confirmed, SinkError> {
        self.sink.publish(&self.sign(message)).await
    }

    async fn publish_all(&self, messages: &[Envelope]) -> Vec<Result<Confirmed, SinkError>> {
        let signed: Vec<Envelope> = messages.iter().map(|message| self.sign(message)).collect();
        self.sink.publish_all(&signed).await
    }
}

impl<S> Signed<S> {
    fn sign(&self, message: &Envelope) -> Envelope {
        let mut message = message.clone();
        message.headers.push((CARRIER.to_owned(), self.process.to_string()));
        message
    }
}

/// Now, on the clock that Redis and the broker date their messages by.
pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}
