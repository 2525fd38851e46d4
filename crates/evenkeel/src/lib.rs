//! Evenkeel is a Rust toolkit that keeps Redis and a SQL database consistent: caches without stale fills, a delay queue, locks with
//! fencing tokens, and a transactional outbox.
//!
//! A program opens one [`Keel`] and gets every capability from it. Each capability is a cargo feature; none is enabled by default.
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
//! let names = keel.cache::<u64, String>("name").ttl(Duration::from_secs(600)).build()?;
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
//! let mail = keel.queue::<String>("mail").retries(5).build().await?;
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
//! let names = keel.cache::<i64, String>("name").ttl(Duration::from_secs(600)).build()?;
//! let mail = keel.queue::<String>("mail").build().await?;
//! let db = SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?; // or MySqlPool, PgPool
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
//! | feature | adds |
//! |---|---|
//! | `cache` | `Keel::cache` and the module `cache`: caches with invalidation, update windows and a near cache |
//! | `queue` | `Keel::queue` and the module `queue`: the delay queue, periodic jobs and dead letters |
//! | `tower` | `tower` layers around the handlers of a queue; enables `queue` |
//! | `lock` | `Keel::lock` and the module `lock`: leased locks with fencing tokens |
//! | `redlock` | `lock::Redlock`: locks on a majority of several independent Redis servers; enables `lock` |
//! | `mysql`, `postgres`, `sqlite` | the unit of work with messages, outbox, relay and inbox on that database; with `cache` also invalidations, with `queue` also jobs and durable queues, with `lock` also fences, row locks and advisory locks; each enables `sql` |
//! | `sql` | the module `sql` without a database driver. Enable a database instead |
//! | `nats` | a sink that publishes outbox messages to NATS JetStream; enables `sql` |
//! | `spool` | `KeelBuilder::spool` and the module `spool`: the bounded file for pending invalidations |
//! | `tls` | TLS (`rediss://`) through rustls with the ring provider |
//! | `testing` | for test suites only: clocks that a test advances, and switches that remove single protocol checks |
//!
//! # Other modules
//!
//! [`link`] has the supervised connections to Redis, [`codec`] the encodings of values, and [`clock`] the time source.

/// The examples of the README, compiled and run.
#[cfg(all(doctest, feature = "cache", feature = "queue", feature = "sqlite"))]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

#[cfg(feature = "cache")]
pub mod cache;
pub mod clock;
pub mod codec;
mod context;
mod keel;
pub mod link;
#[cfg(feature = "lock")]
pub mod lock;
#[cfg(feature = "queue")]
pub mod queue;
#[cfg(feature = "spool")]
pub mod spool;
#[cfg(feature = "sql")]
pub mod sql;
#[cfg(feature = "testing")]
pub mod testing;

pub use evenkeel_link::Token;
#[allow(clippy::disallowed_types, reason = "the crate's root shows it to users")]
pub use keel::{Keel, KeelBuilder};
