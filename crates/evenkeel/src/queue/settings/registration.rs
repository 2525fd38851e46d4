//! Keeps a topic in the register: a flush takes it out while programs go on using it.

use super::Settings;
use crate::queue::queue::Core;
use crate::queue::sharding::shards::Shards;
use crate::queue::store::QueueStore;
use evenkeel_link::clock::{Clock, Moment};
use evenkeel_link::support::guard;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::steps::Limits;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// How often a program that sends looks; one that consumes looks whenever it looks whether the topic has grown.
const LOOK: Duration = Duration::from_secs(30);

/// When a sender last looked whether its topic is in the register.
pub(crate) struct Registration(Mutex<Moment>);

impl Registration {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self(Mutex::new(clock.now()))
    }

    /// Whether it is time to look again; of several callers one is told so.
    fn is_due(&self, now: Moment) -> bool {
        let mut looked_at = self.0.lock();
        let is_due = now.since(*looked_at) >= LOOK;
        if is_due {
            *looked_at = now;
        }
        is_due
    }
}

impl<T: Send + Sync + 'static> Core<T> {
    /// Looks now and then whether the topic is still in the register. No sender waits for it.
    pub(crate) fn keep_registered_now_and_then(self: &Arc<Self>) {
        if self.store.link().is_none() || !self.registration.is_due(self.clock.now()) {
            return;
        }
        let core = Arc::clone(self);
        tokio::spawn(async move {
            if let Err(error) = core.keep_registered().await {
                tracing::debug!(queue = %core.name, %error, "cannot look into the register of topics; looking again");
            }
        });
    }

    /// Enters the topic again if it is gone, and sets its limits.
    pub(crate) async fn keep_registered(&self) -> Result<(), QueueError> {
        if self.store.topics().get(&self.name).await?.is_some() || !guard("queue_registers_again") {
            return Ok(());
        }
        tracing::warn!(queue = %self.name, "the topic is not in the register any more (was Redis flushed?); entering it again");
        self.store.topics().register(&self.name, &self.record).await?;
        if guard("queue_limits_again") {
            set_limits(&self.store, &self.settings, &self.router.shards()).await?;
        }
        Ok(())
    }
}

/// Sets what the settings say about limits, if they say something.
pub(crate) async fn set_limits(store: &QueueStore, settings: &Settings, shards: &Shards) -> Result<(), QueueError> {
    if settings.limits == Limits::default() {
        return Ok(());
    }
    let limits = settings.limits_of_a_shard(shards.count());
    for shard in shards.iter() {
        store.set_limits(shard, limits).await?;
    }
    Ok(())
}
