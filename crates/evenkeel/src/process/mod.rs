//! Process reports: what each process of a fleet is doing, for operators.
//!
//! A [`Keel`](crate::Keel) on Redis reports every ten seconds: host, process id, version, the counters of its caches, its consumers with
//! their running jobs, held locks, schedules and relays. [`Keel::processes`](crate::Keel::processes) reads the reports of all processes;
//! `evenkeel ps` and the console show them. [`KeelBuilder::process_reports`](crate::KeelBuilder::process_reports) switches the own report
//! off. A keel in memory reports when it is asked.
//!
//! Guaranteed: a report costs one call to Redis and at most 16 KiB; one that fails is left out, and no other work waits for it.
//! Not guaranteed: that a report is recent, or complete. It is for people to look at; do not decide with it whether a process is alive.
//!
//! ```
//! # use evenkeel::Keel;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let keel = Keel::memory(); // or Keel::connect("redis://127.0.0.1").await?
//! let found = keel.processes().await?;
//! let report = found.processes[0].report.as_ref().ok_or("a living process has a report")?;
//! assert_eq!(report.pid, std::process::id());
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "cache")]
pub(crate) mod counted;
pub(crate) mod draft;
mod host;
mod libraries;
mod metrics;
pub(crate) mod reporter;

pub use evenkeel_protocol::process::report::{
    CacheReport, ConsumerReport, JobReport, LockReport, ProcessReport, RelayReport, ScheduleReport,
    StreamConsumerReport,
};
pub use evenkeel_protocol::process::steps::{Process, Processes};
