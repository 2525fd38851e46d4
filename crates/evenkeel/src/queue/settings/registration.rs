//! Keeps a topic registered: a flush of Redis removes it from the register while programs use it.

use crate::queue::queue::Core;
use crate::queue::sharding::shards::Shards;
use crate::queue::store::QueueStore;
use evenkeel_link::clock::{Clock, Moment};
use evenkeel_link::support::{Recurring, Tried, guard};
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::steps::{Limits, SetLimits};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// How often a sending program checks the register. A consuming program checks it whenever it checks whether the topic has grown.
const LOOK: Duration = Duration::from_secs(30);

/// When a sender last checked the registration of its topic, and the failures that were logged.
pub(crate) struct Registration {
    looked_at: Mutex<Moment>,
    failing: Recurring,
}

impl Registration {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self { looked_at: Mutex::new(clock.now()), failing: Recurring::default() }
    }

    /// Whether a check is due; true for one of several concurrent callers.
    fn is_due(&self, now: Moment) -> bool {
        let mut looked_at = self.looked_at.lock();
        let is_due = now.since(*looked_at) >= LOOK;
        if is_due {
            *looked_at = now;
        }
        is_due
    }
}

impl<T: Send + Sync + 'static> Core<T> {
    /// Checks from time to time, in the background, whether the topic is still registered. Senders do not wait for it.
    pub(crate) fn keep_registered_now_and_then(self: &Arc<Self>) {
        if self.store.link().is_none() || !self.registration.is_due(self.clock.now()) {
            return;
        }
        let core = Arc::clone(self);
        evenkeel_link::support::spawn(async move {
            if let Err(error) = core.keep_registered().await {
                core.register_unread(&error);
            }
        });
    }

    /// Logs that the register could not be read: as a warning every ten minutes, if a repetition does not mend it, for example a value of
    /// another program under its key.
    pub(crate) fn register_unread(&self, error: &QueueError) {
        let queue = &*self.name;
        match self.unread("register", error) {
            None => tracing::debug!(queue, %error, "the register of topics could not be read; retrying"),
            Some(times) => tracing::warn!(
                queue, %error, times,
                "the register of topics could not be read; the topic runs on, but would not be registered again after a flush"
            ),
        }
    }

    /// The same for the register of grown topics.
    pub(crate) fn growth_unread(&self, error: &QueueError) {
        let queue = &*self.name;
        match self.unread("growth", error) {
            None => tracing::debug!(queue, %error, "the register of grown topics could not be read; retrying"),
            Some(times) => tracing::warn!(
                queue, %error, times,
                "the register of grown topics could not be read; the topic runs on with the shards that this program knows"
            ),
        }
    }

    fn unread(&self, register: &'static str, error: &QueueError) -> Option<u64> {
        (!error.is_retryable()).then(|| self.registration.failing.line_due(register, &"")).flatten()
    }

    /// Registers the topic again if it is missing, and sets its limits.
    pub(crate) async fn keep_registered(&self) -> Result<(), QueueError> {
        if self.store.topics().get(&self.name).await?.is_some() || !guard("queue_registers_again") {
            return Ok(());
        }
        tracing::warn!(queue = %self.name, "the topic is no longer registered (was Redis flushed?); registering it again");
        self.store.topics().register(&self.name, &self.record).await?;
        self.router.look().await?;
        if self.settings.limits != Limits::default() && guard("queue_limits_again") {
            set_limits(&self.store, self.settings.limits, &self.router.shards()).await?;
        }
        Ok(())
    }
}

/// Sets the limits of a topic, divided evenly among its shards: the shares together are never more than the limit.
pub(crate) async fn set_limits(store: &QueueStore, limits: Limits, shards: &Shards) -> Result<(), QueueError> {
    let count = u64::from(shards.count());
    let share = |limit: u64| match limit / count {
        0 if limit > 0 => Err(QueueError::Invalid(format!(
            "a limit of {limit} is below the number of shards, {count}, among which it is divided; set at least {count}"
        ))),
        share => Ok(share),
    };
    let limits = Limits {
        jobs_max: limits.jobs_max.map(share).transpose()?,
        bytes_max: limits.bytes_max.map(share).transpose()?,
    };
    let mut tried = Tried::unless(QueueError::is_retryable);
    for shard in shards.iter() {
        tried.note(store.run(shard, &SetLimits(limits)).await)?;
    }
    tried.finish()
}
