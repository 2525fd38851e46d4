//! The relay carries out the effects that remain in the outbox. Any number of processes may run one.
//!
//! ```
//! # #[cfg(feature = "sqlite")]
//! # mod example {
//! use evenkeel::Keel;
//! use evenkeel::sql::sink::{Sinks, StreamSink};
//! use evenkeel::sql::{Message, migrate};
//!
//! # pub async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let keel = Keel::memory(); // or Keel::connect("redis://127.0.0.1").await?
//! let one = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
//! let pool = one.connect("sqlite::memory:").await?;
//! migrate(&pool).await?;
//!
//! let stream = StreamSink::new(&keel);
//! let relay = keel.relay(&pool).sinks(Sinks::to(stream.clone()));
//!
//! let mut work = keel.begin(&pool).await?;
//! work.publish(Message::new("orders", "sold").key("order/7"))?;
//! work.commit().await?;
//!
//! relay.run_once().await?; // a program calls `relay.run(shutdown)` in a task of its own
//! assert_eq!(stream.entries("orders", None, 10).await?.len(), 1);
//! # Ok(())
//! # }
//! # }
//! # #[cfg(feature = "sqlite")]
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example::run()).unwrap();
//! ```
//!
//! The modules: `relay` and `setters` are the public interface, `runner` has the tasks; `units` processes units of work, with its statements in `rows` and
//! the delivery in `units/deliver`; `ordered` processes the keys of ordered messages, with its statements in `ordered/keys`; `gate` is the
//! back-pressure, `retention` deletes old rows and measures the outbox; `source` connects the outbox to the sinks; `shown` is
//! its part of the process report. `intake` moves the effects that programs in other languages insert as JSON into the outbox. [`operate`] is for operators.

mod core;
mod gate;
mod intake;
mod metrics;
pub mod operate;
mod ordered;
#[expect(clippy::module_inception, reason = "the file holds the type that the folder is named after")]
mod relay;
mod retention;
mod rows;
mod runner;
mod setters;
mod settings;
mod shown;
mod source;
mod units;

pub use self::core::PassReport;
pub use operate::{Outbox, OutboxStats, ParkedDecision, SeenKey, SeenWork, WorkState};
pub use relay::Relay;
#[cfg(feature = "stream")]
pub(crate) use rows::begin;
