//! Evenkeel is a Rust toolkit that keeps Redis and a SQL database consistent: caches without stale fills, a delay queue, locks with
//! fencing tokens, and a transactional outbox.
//!
//! ```toml
//! [dependencies]
//! evenkeel = { version = "0.1", features = ["sqlite"] } # or "mysql", "postgres"
//! serde = { version = "1", features = ["derive"] } # for values and jobs of your own types
//! sqlx = { version = "0.9", features = ["runtime-tokio", "sqlite"] } # the version that Evenkeel uses, the same database
//! tokio = { version = "1", features = ["macros", "rt-multi-thread", "time"] }
//! ```
//!
//! A program opens one [`Keel`] and gets every capability from it. Each capability is a [cargo feature](#cargo-features); caches, queues, streams and
//! locks are enabled by default, a database is a choice. The example `whole_service` is a whole service in 150 lines: HTTP, unit of work, cache, jobs, nightly report, lock, relay and
//! one shutdown.
//!
//! # Opening
//!
//! The last call of a builder says what it is for, and is the same everywhere:
//!
//! | what | last call |
//! |---|---|
//! | the handle: [`Keel`] | [`connect(url).await?`](Keel::connect), or [`memory()`](Keel::memory) for tests and programs without Redis |
//! | what a program keeps and clones: a cache, a queue, a stream, a limit | `open().await?` |
//! | what runs until the program stops: consumers, schedules, the relay | `run(shutdown).await` |
//! | what a program holds for a while: a lock, permits of a semaphore | `acquire().await?` |
//!
//! # Where to find
//!
//! | you want to | see |
//! |---|---|
//! | cache the rows of a table | [`Keel::cache`](struct.Keel.html#method.cache), module [`cache`](cache/index.html) |
//! | read a row that is never older than its last write | [`Freshness::Fresh`](cache/enum.Freshness.html) with [`Cache::write`](cache/struct.Cache.html#method.write) |
//! | run a job later, or repeat it until it succeeds | [`Keel::queue`](struct.Keel.html#method.queue), [`Queue::delay`](queue/struct.Queue.html#method.delay), module [`queue`](queue/index.html) |
//! | work on jobs | [`Queue::consume`](queue/struct.Queue.html#method.consume) |
//! | run a job every night | [`Queue::periodic`](queue/struct.Queue.html#method.periodic) with [`Cron`](queue/struct.Cron.html) |
//! | append to a log that several services handle, in order per key | [`Keel::stream`](struct.Keel.html#method.stream), module [`stream`](stream/index.html) |
//! | let one process at a time do something | [`Keel::lock`](struct.Keel.html#method.lock), module [`lock`](lock/index.html) |
//! | limit how many do it | [`Keel::semaphore`](struct.Keel.html#method.semaphore) |
//! | number invoices one after the other | [`Keel::segments`](struct.Keel.html#method.segments) |
//! | number rows without asking a database, and make short codes of numbers | [`Keel::snowflake`](struct.Keel.html#method.snowflake), [`Shuffle`](id/struct.Shuffle.html), module [`id`](id/index.html) |
//! | limit how often something is done, over all instances | [`Keel::limit`](struct.Keel.html#method.limit), module [`limit`](limit/index.html) |
//! | invalidate, enqueue and publish with a SQL transaction | [`Keel::begin`](struct.Keel.html#method.begin), module [`sql`](sql/index.html) |
//! | carry out what a crash left undone, and publish messages | [`Keel::relay`](struct.Keel.html#method.relay), module [`sql::relay`](sql/relay/index.html) |
//! | invalidate what others change in the database | [`Keel::cdc`](struct.Keel.html#method.cdc), module [`cdc`](cdc/index.html) |
//! | let a received message take effect once | [`Keel::inbox`](struct.Keel.html#method.inbox), [`Inbox`](sql/struct.Inbox.html) |
//! | keep invalidations while Redis is away | [`KeelBuilder::spool`](struct.KeelBuilder.html#method.spool), module [`spool`](spool/index.html) |
//!
//! # Cache
//!
//! A cache in front of the database. An invalidation rejects the result of every load that began before it, so no process can
//! store a value that was read before the commit. Loads are single-flight, which prevents a cache stampede.
//!
//! ```
//! # #[cfg(feature = "cache")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use evenkeel::Keel;
//! use std::time::Duration;
//!
//! async fn find(id: u64) -> Result<Option<String>, std::io::Error> {
//!     Ok(Some(format!("user {id}"))) // your query
//! }
//!
//! let keel = Keel::memory(); // or Keel::connect("redis://127.0.0.1").await?
//! let names = keel.cache::<u64, String>("name").ttl(Duration::from_secs(600)).open().await?;
//! let name = names.get(&42, |id| find(*id)).await?;
//! assert_eq!(name.as_deref().map(String::as_str), Some("user 42"));
//! names.invalidate(&42).await?; // after the commit of a change
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "cache"))]
//! # fn main() {}
//! ```
//!
//! # Queue
//!
//! A delay queue. A job runs at least once, never before it is due; a job that used up its attempts becomes a dead letter.
//!
//! ```
//! # #[cfg(feature = "queue")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use evenkeel::Keel;
//! use evenkeel::queue::Delivery;
//! use std::time::Duration;
//!
//! let keel = Keel::memory(); // or Keel::connect("redis://127.0.0.1").await?
//! let mail = keel.queue::<String>("mail").retries(5).open().await?;
//! mail.delay(Duration::from_millis(10), &"Welcome!".to_owned()).await?;
//! let survey = mail.delay(Duration::from_secs(86_400), &"How was it?".to_owned()).await?;
//! mail.revoke(&survey).await?; // the job will not run
//!
//! let consumer = mail.consume(|job: Delivery<String>| async move {
//!     println!("{}", job.body);
//!     Ok::<_, std::io::Error>(())
//! });
//! consumer.concurrency(64).run(tokio::time::sleep(Duration::from_millis(100))).await?;
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "queue"))]
//! # fn main() {}
//! ```
//!
//! # Stream
//!
//! A log of entries, which each group of consumers handles at least once: in order per key, and concurrently everywhere else. An entry that
//! used up its attempts becomes a dead letter.
//!
//! ```
//! # #[cfg(feature = "stream")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use evenkeel::Keel;
//! use evenkeel::stream::{Entry, OnFailure};
//! use std::time::Duration;
//!
//! let keel = Keel::memory(); // or Keel::connect("redis://127.0.0.1").await?
//! let orders = keel.stream::<String>("orders").partitions(8).open().await?;
//! orders.append("order/7", &"placed".to_owned()).await?;
//! orders.append("order/7", &"paid".to_owned()).await?;
//!
//! let consumer = orders.group("billing").per_key(OnFailure::BlockKey).retries(5).handle(|order: Entry<String>| async move {
//!     println!("{:?} is {}", order.key, order.value);
//!     Ok::<_, std::io::Error>(())
//! });
//! consumer.concurrency(64).run(tokio::time::sleep(Duration::from_millis(100))).await?;
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "stream"))]
//! # fn main() {}
//! ```
//!
//! # Lock
//!
//! Leased locks. Each acquisition returns a fencing token, which SQL compares before a write, so a holder whose lease has expired
//! cannot overwrite the data of its successor.
//!
//! ```
//! # #[cfg(feature = "lock")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use evenkeel::Keel;
//! use std::time::Duration;
//!
//! let keel = Keel::memory(); // or Keel::connect("redis://127.0.0.1").await?
//! let guard = keel.lock("stock/42").ttl(Duration::from_secs(10)).wait(Duration::from_secs(2)).acquire().await?;
//! let counted = guard.run(async { 41 + 1 }).await?; // an error if the lease is lost meanwhile
//! assert_eq!(counted, 42);
//! let first = guard.fence();
//! guard.release().await?;
//! assert!(keel.lock("stock/42").acquire().await?.fence() > first);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "lock"))]
//! # fn main() {}
//! ```
//!
//! # Ids
//!
//! 64-bit ids that sort by time, issued without a call each. Time is reserved in Redis ahead of use, so no clock step, restart, suspend or
//! reused worker id repeats an id. In JSON they are texts.
//!
//! ```
//! # #[cfg(feature = "id")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use evenkeel::Keel;
//!
//! let keel = Keel::memory(); // or Keel::connect("redis://127.0.0.1").await?
//! let orders = keel.snowflake("orders").build().await?;
//! let (first, second) = (orders.next().await?, orders.next().await?);
//! assert!(first < second);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "id"))]
//! # fn main() {}
//! ```
//!
//! # Limit
//!
//! Rate limits that all instances share: token buckets and sliding windows, several levels all or nothing. What happens without Redis is chosen.
//!
//! ```
//! # #[cfg(feature = "limit")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use evenkeel::Keel;
//! use evenkeel::limit::{Decision, Rate};
//! use std::time::Duration;
//!
//! let keel = Keel::memory(); // or Keel::connect("redis://127.0.0.1").await?
//! let login = keel.limit("login").level("source", Rate::new(5, Duration::from_secs(60))).open().await?;
//! for _ in 0..5 {
//!     assert!(login.check(&["203.0.113.7"]).await?.is_admitted());
//! }
//! let Decision::Refused(refused) = login.check(&["203.0.113.7"]).await? else { panic!("the burst is used") };
//! assert!(refused.retry_after <= Duration::from_secs(12)); // for a Retry-After header
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "limit"))]
//! # fn main() {}
//! ```
//!
//! # Unit of work
//!
//! A SQL transaction with a transactional outbox. Its invalidations, jobs and messages are carried out if, and only if, the
//! transaction commits. An inbox (idempotent consumer) lets a message take effect once.
//!
//! ```
//! # #[cfg(all(feature = "sqlite", feature = "cache", feature = "queue"))]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use evenkeel::Keel;
//! use evenkeel::sql::migrate;
//! use sqlx::sqlite::SqlitePoolOptions;
//! use std::time::Duration;
//!
//! let keel = Keel::memory(); // or Keel::connect("redis://127.0.0.1").await?
//! let names = keel.cache::<i64, String>("name").ttl(Duration::from_secs(600)).open().await?;
//! let mail = keel.queue::<String>("mail").open().await?;
//! // One connection, which is never closed, is the database; or MySqlPool, PgPool.
//! let options = SqlitePoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
//! let db = options.connect("sqlite::memory:").await?;
//! sqlx::query("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT)").execute(&db).await?;
//! migrate(&db).await?; // the library's own tables
//!
//! let mut work = keel.begin(&db).await?;
//! sqlx::query("INSERT INTO users (id, name) VALUES (42, 'Ada')").execute(work.tx()).await?;
//! work.invalidate(&names, &42)?;
//! work.enqueue(mail.job(&"Welcome, Ada!".to_owned()))?;
//! work.commit().await?; // if the process dies after the commit, a relay carries out the effects
//! # Ok(())
//! # }
//! # #[cfg(not(all(feature = "sqlite", feature = "cache", feature = "queue")))]
//! # fn main() {}
//! ```
//!
//! # Change capture
//!
//! Rows that no unit of work declares, changed by hand, by a migration or by another service, invalidate their cache entries: see the module
//! [`cdc`](cdc/index.html).
//!
//! # Spool
//!
//! A bounded write-ahead file for invalidations that Redis could not take. The next process that opens the folder replays them.
//!
//! ```
//! # #[cfg(feature = "spool")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use evenkeel::Keel;
//! use evenkeel::spool::SpoolOptions;
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path().join("spool");
//! let builder = Keel::builder().spool(&folder, SpoolOptions::default()).await?;
//! let keel = builder.memory(); // or .connect("redis://127.0.0.1").await?
//! assert!(keel.spool().is_some()); // the caches of this keel use it from now on
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "spool"))]
//! # fn main() {}
//! ```
//!
//! # Cargo features
//!
//! By default: `cache`, `queue`, `stream` and `lock`; `default-features = false` leaves the choice to you, so that a program builds what it uses.
//! Without any feature the library and what it depends on are 92 crates. The last column counts those that a feature adds: `nats` and
//! `tls` to `sqlite`, `binlog` to `mysql`, the databases, `lock` and `spool` to `cache` and `queue`.
//!
//! | feature | adds | crates |
//! |---|---|---|
//! | `cache` | `Keel::cache` and the module `cache`: caches with invalidation, update windows and a near cache | 9 |
//! | `queue` | `Keel::queue` and the module `queue`: the delay queue, periodic jobs and dead letters | 10 |
//! | `tower` | `tower` layers around the handlers of a queue; enables `queue` | 2 |
//! | `stream` | `Keel::stream` and the module `stream`: logs with groups of consumers, in order per key | 8 |
//! | `id` | `Keel::snowflake` and the module `id`: ids from reserved time, with a database also sequences, Base62 and Base58, a keyed permutation | 8 |
//! | `lock` | `Keel::lock` and the module `lock`: leased locks with fencing tokens | 0 |
//! | `limit` | `Keel::limit` and the module `limit`: rate limits that all instances share | 0 |
//! | `redlock` | `lock::Redlock`: locks on a majority of several independent Redis servers; enables `lock` | 0 |
//! | `sqlite` | the unit of work with messages, outbox, relay and inbox on SQLite, which is compiled from C; with `cache` also invalidations, with `queue` also jobs and durable queues, with `lock` also fences and row locks; enables `sql` | 42 |
//! | `mysql` | the same on MySQL and MariaDB, and advisory locks; enables `sql` | 33 |
//! | `postgres` | the same on PostgreSQL, and advisory locks; enables `sql` | 48 |
//! | `sql` | the module `sql` without a database driver. Enable a database instead | |
//! | `cdc` | `Keel::cdc` and the module `cdc`: change capture; enables `sql`, so enable a database, too | 0 |
//! | `binlog` | `cdc::mysql`: the binary log of MariaDB as a source of changes; enables `cdc` and `mysql` | 42 |
//! | `nats` | a sink that publishes outbox messages to NATS JetStream; enables `sql` | 30 |
//! | `spool` | `KeelBuilder::spool` and the module `spool`: the bounded file for pending invalidations | 1 |
//! | `tls` | TLS (`rediss://`) through rustls with the ring provider, which is compiled from C and assembly | 10 |
//! | `otel` | outbox rows, messages and jobs carry the OpenTelemetry context of the span that made them, and relays and consumers continue it | 5 |
//! | `testing` | for test suites only: clocks that a test advances, and switches that remove single protocol checks | 0 |
//!
//! # Other modules
//!
//! [`process`] has the reports of what each process of a fleet does, [`link`] has the supervised connections to Redis, [`codec`] the encodings of values, and [`clock`] the time source.

#![cfg_attr(docsrs, feature(doc_cfg))]

/// The examples of the README, compiled and run.
#[cfg(all(doctest, feature = "cache", feature = "queue", feature = "stream", feature = "sqlite"))]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

#[macro_use]
mod tables;

#[cfg(feature = "cache")]
pub mod cache;
#[cfg(feature = "cdc")]
#[cfg_attr(
    not(any(feature = "mysql", feature = "postgres", feature = "sqlite")),
    allow(
        dead_code,
        unreachable_code,
        unused_mut,
        unused_variables,
        reason = "without a database there is no value of a pool"
    )
)]
pub mod cdc;
pub mod clock;
pub mod codec;
mod context;
#[cfg(any(feature = "queue", feature = "stream"))]
mod handling;
#[cfg(feature = "id")]
pub mod id;
mod keel;
#[cfg(feature = "limit")]
pub mod limit;
pub mod link;
#[cfg(feature = "lock")]
pub mod lock;
pub mod process;
#[cfg(feature = "queue")]
pub mod queue;
#[cfg(feature = "spool")]
pub mod spool;
#[cfg(feature = "sql")]
#[cfg_attr(
    not(any(feature = "mysql", feature = "postgres", feature = "sqlite")),
    allow(
        dead_code,
        unreachable_code,
        unused_mut,
        unused_variables,
        clippy::drop_non_drop,
        clippy::redundant_clone,
        reason = "without a database there is no value of a pool, a connection or a row"
    )
)]
pub mod sql;
mod stores;
#[cfg(feature = "stream")]
pub mod stream;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(any(feature = "queue", feature = "sql"))]
mod trace;

pub use evenkeel_link::Token;
#[allow(clippy::disallowed_types, reason = "the crate's root shows it to users")]
pub use keel::{Keel, KeelBuilder};
