//! The settings of a queue, and their validation.

pub(crate) mod builder;
pub(crate) mod registration;
pub(crate) mod server;

use crate::queue::sharding::shards::SHARDS_MAX;
use evenkeel_link::support::{guard, ms};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::Retries;
use evenkeel_protocol::queue::retry_delay::RetryDelay;
use evenkeel_protocol::queue::steps::Limits;
use std::time::Duration;

/// The longest time to wait for copies.
const CONFIRM_MAX: Duration = Duration::from_secs(3_600);

/// What happens to a job that is sent while its queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// The job is rejected at once with [`QueueError::Full`].
    #[default]
    Reject,
    /// Its sender waits for room, for at most this time; then the job is rejected.
    Wait(Duration),
}

/// Which copies of a job must be confirmed before the queue accepts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The memory of the primary. A crash or a failover loses jobs that no replica or file has yet.
    #[default]
    Memory,
    /// The memory of the primary and of `count` replicas (`WAIT`). A failover to one of them keeps the job.
    Replicas {
        /// How many replicas.
        count: u32,
        /// How long to wait for them; at most an hour.
        timeout: Duration,
    },
    /// The primary's append-only file, after an fsync (`WAITAOF`, from Redis 7.2).
    Disk {
        /// How long to wait for it; at most an hour.
        timeout: Duration,
    },
    /// A row in the SQL database that [`QueueBuilder::sql`](super::QueueBuilder::sql) sets. The row exists until the job is done and
    /// decides whether it may run; a job that the store has lost is restored from it.
    #[cfg(feature = "sql")]
    Sql,
}

/// The settings that the builder collects.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// `None`: the registered number, or 1.
    pub(crate) shards: Option<u16>,
    pub(crate) retries: Retries,
    pub(crate) retry_delay: RetryDelay,
    pub(crate) discard_exhausted: bool,
    pub(crate) visibility: Duration,
    pub(crate) id_window: Duration,
    pub(crate) body_bytes_max: usize,
    pub(crate) limits: Limits,
    pub(crate) when_full: WhenFull,
    pub(crate) durability: Durability,
    pub(crate) may_evict: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            shards: None,
            retries: Retries::Limited(5),
            retry_delay: RetryDelay::default(),
            discard_exhausted: false,
            visibility: Duration::from_secs(30),
            id_window: Duration::from_secs(24 * 3600),
            body_bytes_max: 1 << 20,
            limits: Limits::default(),
            when_full: WhenFull::default(),
            durability: Durability::default(),
            may_evict: false,
        }
    }
}

impl Settings {
    /// Rejects invalid settings, with one sentence.
    pub(crate) fn check(&self, queue: &str) -> Result<(), QueueError> {
        let refuse = |reason: &str| Err(QueueError::Settings { queue: queue.to_owned(), reason: reason.to_owned() });
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        // A path of the console with the segment `.` or `..` is another path.
        let is_segment = !matches!(queue, "" | "." | "..");
        if !is_segment || queue.len() > 64 || !queue.bytes().all(allowed) {
            return refuse("its name must be 1 to 64 letters, digits, `-`, `_` or `.`, and not `.` or `..`");
        }
        if self.shards.is_some_and(|shards| shards == 0 || shards > SHARDS_MAX) {
            return refuse("`shards` must be between 1 and 1024");
        }
        if !guard("queue_settings_checked") {
            return Ok(());
        }
        if self.visibility < Duration::from_secs(1) || self.visibility > Duration::from_secs(12 * 3600) {
            return refuse("`visibility` must be between 1 s and 12 h; it limits how long a dead worker holds a job");
        }
        if ms(self.id_window) > 400 * 24 * 3_600_000 {
            return refuse("`id_window` must be at most 400 days: every completion record uses memory");
        }
        if self.retry_delay.ms_max() > 365 * 24 * 3_600_000 {
            return refuse("`retry_delay` must be at most a year");
        }
        if self.limits.jobs_max == Some(0) || self.limits.bytes_max == Some(0) || self.body_bytes_max == 0 {
            return refuse("a limit of zero rejects every job; set at least 1");
        }
        if matches!(self.durability, Durability::Replicas { count: 0, .. }) {
            return refuse("`Replicas` requires a count of at least 1; without copies use `Durability::Memory`");
        }
        if let Durability::Replicas { timeout, .. } | Durability::Disk { timeout } = self.durability
            && timeout > CONFIRM_MAX
        {
            return refuse(
                "the `timeout` of `Replicas` and `Disk` must be at most an hour: one connection waits for all of them",
            );
        }
        Ok(())
    }

    /// The visibility timeout in ms.
    pub(crate) fn visibility_ms(&self) -> u64 {
        ms(self.visibility)
    }
}
