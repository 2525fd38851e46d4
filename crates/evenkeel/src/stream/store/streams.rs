//! The state that the streams of one keel share.

use super::StreamStore;
use crate::context::Context;
use crate::process::reporter::Reporter;
use crate::stream::consume::Listeners;
#[cfg(feature = "sql")]
use crate::stream::sql::Databases;
use evenkeel_link::clock::Clock;
use std::sync::Arc;

/// The state that the streams of one keel share.
pub(crate) struct Streams {
    pub(crate) clock: Clock,
    pub(crate) reporter: Arc<Reporter>,
    pub(crate) store: StreamStore,
    /// The wake-up listeners of all consumers of this process.
    pub(crate) listeners: Arc<Listeners>,
    /// The databases in which streams may be registered.
    #[cfg(feature = "sql")]
    pub(crate) databases: Databases,
}

impl Streams {
    pub(crate) fn new(context: &Context) -> Self {
        let clock = context.clock.clone();
        let store = match &context.link {
            None => StreamStore::memory(clock),
            Some(link) => StreamStore::redis(link.clone(), clock),
        };
        Self::over(context, store)
    }

    /// Streams on the same embedded store, like those of another process on the same Redis.
    #[cfg(all(feature = "testing", feature = "cache"))]
    pub(crate) fn another_process(&self, context: &Context) -> Self {
        Self::over(context, self.store.clone())
    }

    fn over(context: &Context, store: StreamStore) -> Self {
        Self {
            clock: context.clock.clone(),
            reporter: Arc::clone(&context.reporter),
            store,
            listeners: Arc::default(),
            #[cfg(feature = "sql")]
            databases: Databases::default(),
        }
    }
}
