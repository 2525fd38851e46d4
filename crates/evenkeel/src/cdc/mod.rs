//! Change capture: rows that anyone changes, with `psql`, by a migration, from another service, invalidate the entries of caches and call
//! functions.
//!
//! A unit of work ([`sql`](crate::sql)) invalidates what the program itself writes. A change that no unit of work declares is captured here:
//!
//! ```
//! # #[cfg(all(feature = "sqlite", feature = "cache"))]
//! # mod example {
//! use evenkeel::Keel;
//! use evenkeel::cdc::source::ChangeTable;
//! use std::time::Duration;
//!
//! # pub async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let keel = Keel::memory(); // or Keel::connect("redis://127.0.0.1").await?
//! let users = keel.cache::<u64, String>("user").ttl(Duration::from_secs(600)).open().await?;
//! # let one = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
//! # let pool = one.connect("sqlite::memory:").await?;
//! # sqlx::query("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT)").execute(&pool).await?;
//! evenkeel::sql::migrate(&pool).await?;
//! let source = ChangeTable::new(&pool).table("users", ["id"]);
//! source.install().await?; // triggers that write each change of the table into another one
//!
//! let capture = keel.cdc("main", &pool, source).table("users", |rule| rule.cache(&users).key("id"));
//! let shutdown = std::future::ready(()); // a service passes its own signal
//! capture.run(shutdown).await?;
//! # Ok(())
//! # }
//! # }
//! # #[cfg(all(feature = "sqlite", feature = "cache"))]
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example::run()).unwrap();
//! ```
//!
//! docs/spec/cdc.md has the promises, the states and what is not promised. The rooms, in the order in which a change passes them: `source/`
//! gives changes, `rules/` says what they mean, `reader/` carries them out and saves checkpoints, one reader at a time. `admin.rs` is for
//! operators.

mod admin;
mod capture;
mod error;
mod metrics;
#[cfg(feature = "binlog")]
pub mod mysql;
mod reader;
mod rules;
pub mod source;

pub use admin::{CaptureAdmin, Parked, Status};
pub use capture::{Capture, GapPolicy};
pub use error::CdcError;
pub use rules::{Changed, TableRules};
