//! The relay: carries out what the outbox still holds. Any number of processes may run one.
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
//! let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
//! migrate(&pool).await?;
//!
//! let stream = StreamSink::new(&keel);
//! let relay = keel.relay(&pool).sinks(Sinks::to(stream.clone())).build();
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
//! In this folder: `builder` and `relay` are the surface; `works` is the unordered lane with its statements in `rows` and
//! `deliver` for what it has claimed, `ordered`
//! the ordered one with `keys`; `gate` is the back-pressure, `retention` what is deleted and measured; `publisher` and `source`
//! join them to the outbox and the sinks. [`operate`] is for those who look after an outbox.

mod builder;
mod core;
mod deliver;
mod gate;
mod keys;
mod metrics;
pub mod operate;
mod ordered;
mod publisher;
#[expect(clippy::module_inception, reason = "the file holds the type that the folder is named after")]
mod relay;
mod retention;
mod rows;
mod settings;
mod source;
mod works;

pub use self::core::Looked;
pub use builder::RelayBuilder;
pub use operate::{Outbox, Place, Release, SeenKey, SeenWork, Stats};
pub use relay::Relay;
