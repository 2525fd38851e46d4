//! The state that the queues of one keel share.

use super::QueueStore;
use crate::context::Context;
use crate::process::reporter::Reporter;
use crate::queue::consume::WakeUpListeners;
use crate::queue::sending::durable::DurableConnection;
use evenkeel_link::Link;
use evenkeel_link::clock::Clock;
use std::sync::Arc;

/// The state that the queues of one keel share.
pub(crate) struct Queues {
    link: Option<Link>,
    pub(crate) clock: Clock,
    pub(crate) reporter: Arc<Reporter>,
    /// The store of all queues, if the jobs are in the memory of this process.
    embedded: QueueStore,
    /// The connection for writes that wait for replicas or a disk.
    pub(crate) durable: DurableConnection,
    /// The wake-up listeners of all consumers of this process.
    pub(crate) listeners: Arc<WakeUpListeners>,
}

impl Queues {
    pub(crate) fn new(context: &Context) -> Self {
        Self::over(context, QueueStore::memory(context.clock.clone()))
    }

    /// Queues on the same embedded store, like those of another process on the same Redis.
    #[cfg(all(feature = "testing", feature = "cache"))]
    pub(crate) fn another_process(&self, context: &Context) -> Self {
        Self::over(context, self.embedded.clone())
    }

    fn over(context: &Context, embedded: QueueStore) -> Self {
        let (link, clock, reporter) = (context.link.clone(), context.clock.clone(), Arc::clone(&context.reporter));
        Self { link, clock, reporter, embedded, durable: DurableConnection::default(), listeners: Arc::default() }
    }

    /// The store of the jobs.
    pub(crate) fn store(&self) -> QueueStore {
        match &self.link {
            None => self.embedded.clone(),
            Some(link) => QueueStore::redis(link.clone(), self.clock.clone()),
        }
    }
}
