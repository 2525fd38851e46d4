//! The SQL side: the unit of work, its outbox, the relay and the inbox.
//!
//! A unit of work is a SQL transaction and the effects that must follow it. The effects are carried out if, and only if, the
//! transaction commits:
//!
//! ```
//! # #[cfg(all(feature = "sqlite", feature = "cache", feature = "queue"))]
//! # mod example {
//! use evenkeel::Keel;
//! use std::time::Duration;
//!
//! # pub async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let keel = Keel::memory(); // or Keel::connect("redis://127.0.0.1").await?
//! let users = keel.cache::<u64, String>("user").ttl(Duration::from_secs(600)).open().await?;
//! let mail = keel.queue::<String>("mail").open().await?;
//!
//! let one = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
//! let pool = one.connect("sqlite::memory:").await?; // or MySqlPool, or PgPool
//! evenkeel::sql::migrate(&pool).await?;
//! # sqlx::query("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT)").execute(&pool).await?;
//!
//! let mut work = keel.begin(&pool).await?;
//! sqlx::query("INSERT INTO users (id, name) VALUES (?, ?)").bind(42).bind("Ada").execute(work.tx()).await?;
//! work.invalidate(&users, &42)?;
//! work.enqueue(mail.job(&"welcome".to_owned()).delay(Duration::from_secs(300)))?;
//! work.commit().await?; // updates Redis at once; a relay does so if this process dies here
//! # Ok(())
//! # }
//! # }
//! # #[cfg(all(feature = "sqlite", feature = "cache", feature = "queue"))]
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example::run()).unwrap();
//! ```
//!
//! An effect is there with the feature of its capability: invalidations with `cache`, jobs with `queue`, entries with
//! `stream`, messages always. A program that
//! runs a relay needs the features of all effects in its database.
//!
//! docs/spec/unit-of-work.md specifies the tables, states and steps. The modules: `work/` has the public interface and the commit,
//! `outbox/` the rows and how their effects are carried out, `relay/` the relay, `sink/` the destinations of messages, `inbox/` the
//! idempotent consumer, `contention/` conflicts between transactions and row locks, `database/` the differences between the three
//! databases, and `migrate` creates the tables.

mod contention;
pub(crate) mod database;
mod error;
mod inbox;
mod migrate;
pub(crate) mod outbox;
pub mod relay;
mod shared;
pub mod sink;
mod transaction;
mod work;

#[cfg(feature = "lock")]
pub(crate) use contention::SettingTransaction;
pub(crate) use contention::retry_adaptively;
pub use contention::{
    Approach, Conflict, ConflictError, ConflictPolicy, Contended, ForUpdate, LockingTransaction, OptimisticError, Stale,
};
pub use database::Database;
pub use error::SqlError;
pub use inbox::{Inbox, MessageId, Once, Parked, ParkedMessageDecision};
pub use migrate::{check_schema, migrate, run_migrations};
pub use outbox::{Message, WorkId};
pub use relay::{Outbox, PassReport, Relay};
pub(crate) use shared::Shared;
pub use transaction::PoolTransaction;
#[cfg(any(feature = "queue", feature = "id", feature = "cdc"))]
pub(crate) use transaction::Transaction;
#[cfg(feature = "lock")]
pub(crate) use transaction::close_if_over;
pub use work::{Committed, Effects, Joined, Left, Sealed, WakeUp, Work};
#[cfg(feature = "queue")]
pub(crate) use work::{UNCHECKED_MAX, fits, largest_body, take_versions};
