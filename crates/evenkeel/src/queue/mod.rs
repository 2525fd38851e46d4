//! A delay queue: work that runs later, never earlier, and survives every crash.
//!
//! Open one [`Queue`] per kind of work; send jobs from anywhere, run them anywhere:
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
//! let mail = keel.queue::<String>("mail").retries(5).visibility(Duration::from_secs(30)).build().await?;
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
//! In this folder, from the outside in: `queue`, `builder` and `order` are the surface; `send` and `durable` the way in; `consume/`
//! runs jobs; `periodic` and `cron` are schedules; `store` is the seam to `redis` and `memory`, `sql/` the
//! rows that judge jobs under `Durability::Sql`, `shards` decides who keeps a
//! job, `router` finds it there also while the topic `grow`s, `register` knows which topics there are, and `registration` keeps them there.
//!
//! * [`Queue`] — what a program holds: it sends jobs, and [runs](Queue::consume) them.
//! * [`topic::Topic`] — the same for those who operate it, whatever the type of its jobs.
//! * [`steps`] — the atomic steps, as a trait; docs/spec/queue.md is their specification.
//! * [`job`] — what a job is; [`record`] — how one is written down.
//! * [`MemoryQueue`] — the steps as a model in this process; [`RedisQueue`] — as scripts on Redis.

mod builder;
mod check;
mod consume;
mod cron;
mod durable;
mod error;
mod figures;
#[cfg(feature = "sql")]
mod for_work;
pub mod grow;
mod head;
pub mod job;
mod memory;
mod metrics;
mod order;
mod periodic;
#[expect(clippy::module_inception, reason = "the file holds the type that the folder is named after")]
mod queue;
mod queues;
pub mod record;
mod redis;
mod register;
mod registration;
mod retry_delay;
mod room;
mod router;
mod send;
mod server;
mod settings;
mod shards;
#[cfg(feature = "sql")]
mod sql;
pub mod steps;
mod store;
pub mod topic;
mod topology;
mod versioned;

pub use builder::QueueBuilder;
#[cfg(feature = "tower")]
pub use consume::HandlerService;
pub use consume::{Batch, BatchHandled, Cancellation, Consumer, Delivery, Handled, Reaction};
pub use cron::{Cron, NotCron};
pub use error::QueueError;
#[cfg(feature = "sql")]
pub(crate) use for_work::{JobPut, JobWish, job_record};
pub use job::{End, JobId, Priority, Retries};
pub use memory::MemoryQueue;
pub use order::{Order, Sent};
pub use periodic::{Missed, Periodic};
pub use queue::Queue;
pub(crate) use queues::Queues;
pub use redis::RedisQueue;
pub(crate) use redis::SCRIPTS;
pub use retry_delay::RetryDelay;
pub use settings::{Durability, WhenFull};
#[cfg(feature = "sql")]
pub use sql::Swept;
#[cfg(all(feature = "testing", feature = "sql"))]
pub use sql::page_by_due;
#[cfg(feature = "sql")]
pub(crate) use sql::upsert_jobs;
pub use steps::{Enqueued, Found, Rescheduled, Revoked, State};
pub(crate) use store::QueueStore;
