//! The inbox, an idempotent consumer: a handler's SQL effect happens once, however often its message is delivered (U7).
//!
//! Queues and brokers deliver at least once: a worker that dies between its commit and its acknowledgement receives the message
//! again. The inbox records, in the handler's own transaction, which messages a consumer group has processed.
//!
//! ```
//! # #[cfg(feature = "sqlite")]
//! # mod example {
//! use evenkeel::Keel;
//! use evenkeel::sql::Once;
//!
//! # pub async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! # let one = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
//! # let pool = one.connect("sqlite::memory:").await?; // or MySqlPool, or PgPool
//! evenkeel::sql::migrate(&pool).await?;
//! # sqlx::query("CREATE TABLE accounts (id INTEGER PRIMARY KEY, cents INTEGER)").execute(&pool).await?;
//! # sqlx::query("INSERT INTO accounts (id, cents) VALUES (1, 0)").execute(&pool).await?;
//! let inbox = Keel::memory().inbox(&pool);
//! for _ in 0..2 {
//!     // The same message twice.
//!     let mut transaction = pool.begin().await?;
//!     if inbox.once(&mut *transaction, "accounts", "payment/7").await? == Once::Fresh {
//!         sqlx::query("UPDATE accounts SET cents = cents + 30 WHERE id = 1").execute(&mut *transaction).await?;
//!     }
//!     transaction.commit().await?;
//!     // Acknowledge the message now, and not before.
//! }
//! let cents: i64 = sqlx::query_scalar("SELECT cents FROM accounts").fetch_one(&pool).await?;
//! assert_eq!(cents, 30);
//! # Ok(())
//! # }
//! # }
//! # #[cfg(feature = "sqlite")]
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example::run()).unwrap();
//! ```
//!
//! `once` has the check of a message, `message` its name, `parked` the messages that wait for an operator, and `retention` the
//! removal of old entries. docs/spec/inbox.md is the specification.

mod message;
mod metrics;
mod once;
mod parked;
mod retention;

pub use message::MessageId;
pub use once::{Inbox, Once};
pub use parked::{Parked, ParkedMessageDecision};
