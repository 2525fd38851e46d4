//! A delay queue: a job runs at its due time or later, never earlier, and survives a crash of its sender and of its worker.
//!
//! Open one [`Queue`] per kind of work. Any process may send jobs, and any process may consume them:
//!
//! ```
//! use evenkeel::Keel;
//! use evenkeel::queue::Delivery;
//! use std::convert::Infallible;
//! use std::sync::Arc;
//! use std::time::Duration;
//! use tokio::sync::Notify;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), evenkeel::queue::QueueError> {
//! let keel = Keel::memory(); // or Keel::connect("redis://127.0.0.1").await?
//! let mail = keel.queue::<String>("mail").retries(5).visibility(Duration::from_secs(30)).open().await?;
//!
//! let welcome = mail.delay(Duration::from_millis(20), &"welcome".to_owned()).await?;
//! let survey = mail.job(&"survey".to_owned()).id("survey/42").delay(Duration::from_secs(86_400)).enqueue().await?.id;
//! mail.revoke(&survey).await?; // it never starts
//!
//! let sent = Arc::new(Notify::new());
//! let notify = Arc::clone(&sent);
//! let consumer = mail.consume(move |job: Delivery<String>| {
//!     let notify = Arc::clone(&notify);
//!     async move {
//!         assert_eq!((job.id, job.body.as_str()), (welcome, "welcome"));
//!         notify.notify_one();
//!         Ok::<_, Infallible>(())
//!     }
//! });
//! consumer.concurrency(64).run(sent.notified()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! * [`Queue`] — the typed handle of a program: it enqueues jobs and [consumes](Queue::consume) them.
//! * [`topic::Topic`] — the operator's handle on the same queue, independent of the type of its jobs.
//! * [`Periodic`] and [`Cron`] — recurring jobs.
//!
//! docs/spec/queue.md specifies the protocol; the crate `evenkeel-protocol` has its atomic steps, their model and their scripts. The
//! modules of this folder, in the order in which a job passes through them:
//!
//! * `queue.rs` and `settings/`: the handle, its builder and its settings.
//! * `sending/` enqueues jobs; `schedule/` enqueues recurring ones.
//! * `sharding/` routes a job to its shard, also while the topic grows.
//! * `consume/` runs jobs: per shard the loops that claim, extend leases and take expired leases back, and per job its attempts.
//! * `topic/` is for operators; `sql/` has the rows that decide about jobs under `Durability::Sql`.
//! * `store/` gives access to the steps and to the register of topics.

mod consume;
mod metrics;
#[expect(clippy::module_inception, reason = "the file holds the type that the folder is named after")]
mod queue;
mod schedule;
mod sending;
mod settings;
mod sharding;
#[cfg(feature = "sql")]
pub(crate) mod sql;
mod store;
pub mod topic;

pub use crate::handling::cancellation::Cancellation;
#[cfg(feature = "tower")]
pub use consume::HandlerService;
pub use consume::{Batch, BatchHandled, Consumer, Delivery, Handled, Reaction};
pub use evenkeel_protocol::queue::error::QueueError;
pub use evenkeel_protocol::queue::job::{
    CompletionRecord, End, ErrorClass, ErrorNote, Job, JobId, JobSpec, NotAnId, Note, Priority, Retention, Retries,
    Unique, UniqueKey,
};
pub use evenkeel_protocol::queue::record::Unreadable;
pub use evenkeel_protocol::queue::retry_delay::RetryDelay;
pub use evenkeel_protocol::queue::steps::{
    Enqueued, Found, Limits, Listed, PutAnswer, Reschedule, Rescheduled, Revoked, State, When,
};
pub use queue::Queue;
pub use schedule::cron::{Cron, NotCron};
pub use schedule::periodic::{Missed, Periodic};
pub use sending::builder::{JobBuilder, Sent};
#[cfg(feature = "sql")]
pub(crate) use sending::for_work::{JobOperation, JobPut, job_record};
pub use settings::builder::QueueBuilder;
pub use settings::{Durability, WhenFull};
#[cfg(feature = "sql")]
pub(crate) use sql::upsert_jobs;
pub(crate) use store::queues::Queues;
