//! The state that the streams of one keel share.

use super::StreamStore;
use crate::context::Context;
use crate::process::reporter::Reporter;
use crate::stream::consume::Listeners;
#[cfg(feature = "sql")]
use crate::stream::sql::Databases;
use evenkeel_link::clock::Clock;
use std::sync::Arc;
use tokio::sync::{Semaphore, SemaphorePermit};

/// The state that the streams of one keel share.
pub(crate) struct Streams {
    pub(crate) clock: Clock,
    pub(crate) reporter: Arc<Reporter>,
    pub(crate) store: StreamStore,
    /// The wake-up listeners of all consumers of this process.
    pub(crate) listeners: Arc<Listeners>,
    /// The reads whose replies may be large.
    pub(crate) heavy: HeavyReads,
    /// The databases in which streams may be registered.
    #[cfg(feature = "sql")]
    pub(crate) databases: Databases,
}

/// Bounds the reads with large replies that are on the way to one process at the same time: on the connection that they share, all
/// other replies wait behind them.
pub(crate) struct HeavyReads(Semaphore);

/// The maximum number of reads with large replies at the same time.
const HEAVY_MAX: usize = 2;

impl Default for HeavyReads {
    fn default() -> Self {
        Self(Semaphore::new(HEAVY_MAX))
    }
}

impl HeavyReads {
    /// Waits for the turn of a read, if its reply may be large.
    pub(crate) async fn turn(&self, is_heavy: bool) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        if is_heavy { self.0.acquire().await.ok() } else { None }
    }
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
            heavy: HeavyReads::default(),
            #[cfg(feature = "sql")]
            databases: Databases::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::HeavyReads;
    use futures_util::FutureExt;

    /// Large replies to all partitions of a process at once kept every other reply on their connection waiting.
    // shows: hazard SF2
    #[tokio::test]
    async fn two_heavy_reads_are_on_the_way_at_once() {
        let reads = HeavyReads::default();
        let first = reads.turn(true).await;
        let second = reads.turn(true).await;
        assert!(reads.turn(true).now_or_never().is_none());
        assert!(reads.turn(false).now_or_never().is_some_and(|turn| turn.is_none()), "a small read does not wait");
        drop(first);
        assert!(reads.turn(true).now_or_never().flatten().is_some());
        drop(second);
    }
}
