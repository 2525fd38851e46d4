//! Streams: logs of entries, which every group of consumers handles at least once, in order where it matters and concurrently everywhere else.
//!
//! Open one [`Stream`] per kind of entry. Any process may append, and any process may consume:
//!
//! ```
//! use evenkeel::Keel;
//! use evenkeel::stream::{Entry, OnFailure};
//! use std::convert::Infallible;
//! use std::sync::Arc;
//! use tokio::sync::mpsc;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), evenkeel::stream::StreamError> {
//! let keel = Keel::memory(); // or Keel::connect("redis://127.0.0.1").await?
//! let orders = keel.stream::<String>("orders").partitions(8).open().await?;
//! orders.append("order/7", &"placed".to_owned()).await?;
//! orders.append("order/7", &"paid".to_owned()).await?; // after the one before, in every ordered group
//!
//! let (sender, mut handled) = mpsc::unbounded_channel();
//! let consumer = orders.group("billing").per_key(OnFailure::BlockKey).retries(5).handle(move |order: Entry<String>| {
//!     let sender = sender.clone();
//!     async move {
//!         let _ = sender.send(order.value);
//!         Ok::<_, Infallible>(())
//!     }
//! });
//! let both = async {
//!     assert_eq!(handled.recv().await.as_deref(), Some("placed"));
//!     assert_eq!(handled.recv().await.as_deref(), Some("paid"));
//! };
//! consumer.concurrency(64).run(both).await?;
//! # Ok(())
//! # }
//! ```
//!
//! * [`Stream`] — the typed handle of a program: it appends entries and [consumes](Stream::group) them.
//! * [`Group`] — the order in which a group handles entries ([`unordered`](Group::unordered), [`per_key`](Group::per_key),
//!   [`total`](Group::total)), its retries and dead letters.
//! * [`admin::StreamAdmin`] — the operator's handle on the same stream, independent of the type of its entries.
//!
//! A stream is as durable as its Redis: entries that Redis loses are lost, except those that units of work append to a stream that is
//! registered in their database (`StreamBuilder::sql`). What is appended must be trimmed again, which consumers do: an
//! entry is removed once every group has settled it and it is older than [`retention`](StreamBuilder::retention).
//!
//! docs/spec/stream.md specifies the protocol; the crate `evenkeel-protocol` has its atomic steps, their model and their scripts. The
//! modules of this folder, in the order in which an entry passes through them:
//!
//! * `stream.rs`, `base.rs` and `settings/`: the handle, what it shares with operators, its builder and its settings.
//! * `sending/` appends entries.
//! * `consume/` runs entries: per partition a worker that reads, extends leases and settles, and per entry its attempts.
//! * `admin/` is for operators.
//! * `store/` gives access to the steps and to the register of streams.
//! * `sql/` stores checkpoints of groups in a database, and recovers a stream that Redis has lost.

pub mod admin;
mod base;
mod consume;
mod metrics;
mod sending;
mod settings;
#[cfg(feature = "sql")]
mod sql;
mod store;
#[expect(clippy::module_inception, reason = "the file holds the type that the folder is named after")]
mod stream;

pub use crate::handling::cancellation::Cancellation;
#[cfg(feature = "sql")]
pub(crate) use base::Base;
#[cfg(feature = "lock")]
pub use consume::PerKeyExclusive;
pub use consume::{Batch, BatchHandled, Consumer, Entry, Group, Handled, OnFailure, Reaction};
pub use evenkeel_protocol::retry_delay::RetryDelay;
pub use evenkeel_protocol::stream::error::StreamError;
pub use evenkeel_protocol::stream::id::EntryId;
pub use sending::entry::NewEntry;
pub use sending::send::Appended;
#[cfg(feature = "sql")]
pub(crate) use sending::send::CALL_BYTES_MAX;
pub use settings::builder::StreamBuilder;
#[cfg(feature = "sql")]
pub(crate) use sql::SqlTable;
pub(crate) use store::streams::Streams;
pub use stream::Stream;
