//! Replays invalidations: on a new epoch, before it serves reads, the recent ones, which a Redis that failed over or restarted
//! may have lost; and failed ones, until they succeed.

use super::deferral::Deferral;
use super::ledger::{Demand, Ledger, Pending};
use crate::cache::metrics::CacheMetrics;
use crate::cache::store::Store;
use crate::cache::store::hub::Hub;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use evenkeel_link::{Epoch, LinkError};
use evenkeel_protocol::cache::error::CacheError;
use futures_util::future::join_all;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// The invalidations of one cache, and their replay.
pub(crate) struct Replayer {
    pub(crate) ledger: Ledger,
    store: Store,
    clock: Clock,
    metrics: Arc<CacheMetrics>,
    /// Shared by all caches of the keel; its driver schedules failed invalidations.
    hub: Arc<Hub>,
    deferral: Deferral,
}

/// An invalidation in flight. If it is dropped before its end, its outcome is unknown, so it is replayed.
pub(crate) struct PendingInvalidation {
    replayer: Arc<Replayer>,
    pending: Pending,
    is_done: bool,
}

impl Replayer {
    pub(crate) fn new(
        store: &Store,
        ledger: Ledger,
        deferral: Deferral,
        clock: &Clock,
        metrics: &Arc<CacheMetrics>,
        hub: &Arc<Hub>,
    ) -> Self {
        let (store, clock, metrics) = (store.clone(), clock.clone(), Arc::clone(metrics));
        Self { ledger, store, clock, metrics, hub: Arc::clone(hub), deferral }
    }

    /// Loads the invalidations that earlier processes, or earlier caches of this name, left in the spool.
    pub(crate) fn load_spooled(self: &Arc<Self>) {
        for (key, demand, sequence) in self.deferral.pending_in_spool() {
            let (pending, _) = self.ledger.open(&key, demand, self.clock.now());
            self.ledger.failed(&pending);
            if !self.ledger.spooled(&key, sequence) {
                self.deferral.done(sequence);
            }
        }
        if self.ledger.pending_count() > 0 {
            self.update_pending_gauge();
            self.hub.driver.schedule(self, self.clock.now());
            // Without a runtime the loop starts with the first invalidation.
            if tokio::runtime::Handle::try_current().is_ok() {
                self.hub.driver.start(&self.clock);
            }
        }
    }

    /// Records an invalidation that is about to be sent.
    pub(crate) fn begin(self: &Arc<Self>, key: &[u8], demand: Demand) -> PendingInvalidation {
        self.hub.driver.start(&self.clock);
        let (pending, removed) = self.ledger.open(key, demand, self.clock.now());
        self.metrics.forgotten.increment(removed);
        PendingInvalidation { replayer: Arc::clone(self), pending, is_done: false }
    }

    /// Replays the failed invalidations once. Returns how many are still pending.
    pub(crate) async fn run_once(&self) -> usize {
        for batch in self.ledger.failures().chunks(self.store.together_max()) {
            let sent = batch.iter().map(|pending| self.replay(pending, None));
            // If the store is unavailable for one of a batch, it is for the rest of the list. One that is rejected stops no other.
            let is_unavailable = |answer: &Result<(), CacheError>| answer.as_ref().is_err_and(CacheError::is_retryable);
            if join_all(sent).await.iter().any(is_unavailable) {
                break;
            }
        }
        let pending_count = self.ledger.pending_count();
        if pending_count == 0 {
            self.metrics.replay_success.set(seconds(self.clock.unix_ms()));
        }
        pending_count
    }

    /// Whether there is nothing to replay.
    pub(crate) fn is_idle(&self) -> bool {
        self.ledger.everything(self.clock.now()).is_empty()
    }

    /// Whether no invalidation of `key` is in flight or failed.
    #[cfg(feature = "cdc")]
    pub(crate) fn is_applied(&self, key: &[u8]) -> bool {
        self.ledger.is_applied(key)
    }

    async fn replay(&self, pending: &Pending, epoch: Option<&Epoch>) -> Result<(), CacheError> {
        let invalidation = pending.demand.invalidation();
        let answer = match epoch {
            Some(epoch) => self.store.invalidate_on(epoch, &pending.key, &invalidation).await,
            None => self.store.invalidate(&pending.key, &invalidation).await,
        };
        match &answer {
            Ok(()) => {
                self.metrics.replayed.increment(1);
                self.mark_done(pending);
            }
            Err(_) => self.ledger.failed(pending),
        }
        self.update_pending_gauge();
        answer
    }

    /// Replays all invalidations that a Redis which lost data may be missing, on an epoch that is not published yet.
    pub(crate) async fn replay_before_open(&self, epoch: &Epoch) -> Result<(), LinkError> {
        if !guard("replay_before_publish") {
            return Ok(());
        }
        // A batch above the limit of the link would be rejected, and no epoch would ever be opened.
        for batch in self.ledger.everything(self.clock.now()).chunks(self.store.together_max()) {
            let sent = batch.iter().map(|pending| self.replay(pending, Some(epoch)));
            for answer in join_all(sent).await {
                // An invalidation that the server rejects for this key alone stays pending, and the key is not read from the
                // store meanwhile; it must not block the epoch for all other keys.
                if let Err(CacheError::Link(error)) = answer
                    && !matches!(error, LinkError::Refused { .. } | LinkError::Unexpected(_))
                {
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn mark_done(&self, pending: &Pending) {
        if let Some(sequence) = self.ledger.done(pending, self.clock.now()) {
            self.deferral.done(sequence);
        }
    }

    fn update_pending_gauge(&self) {
        // A count of keys is small enough for a float.
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
        self.metrics.pending_count.set(self.ledger.pending_count() as f64);
    }
}

impl PendingInvalidation {
    pub(crate) fn demand(&self) -> Demand {
        self.pending.demand
    }

    pub(crate) fn done(mut self) {
        self.is_done = true;
        self.replayer.mark_done(&self.pending);
        self.replayer.update_pending_gauge();
    }

    /// A later invalidation of the same key, which is sent now, replaces this one.
    #[cfg(feature = "sql")]
    pub(crate) fn replaced(mut self) {
        self.is_done = true;
    }

    /// Records that it failed. Returns whether the spool has stored it for the next process; this process replays it in either
    /// case.
    pub(crate) async fn defer(mut self) -> bool {
        self.mark_failed().await
    }

    /// Marks it as failed and schedules its replay. The future returns whether the spool has stored it; it need not be awaited.
    fn mark_failed(&mut self) -> impl Future<Output = bool> + Send + use<> {
        self.is_done = true;
        if guard("invalidation_is_pending") {
            self.replayer.ledger.failed(&self.pending);
            self.replayer.update_pending_gauge();
            self.replayer.hub.driver.schedule(&self.replayer, self.replayer.clock.now());
        }
        self.replayer.deferral.defer(&self.replayer, &self.pending)
    }
}

impl Drop for PendingInvalidation {
    fn drop(&mut self) {
        if !self.is_done {
            drop(self.mark_failed());
        }
    }
}

fn seconds(unix_ms: u64) -> f64 {
    Duration::from_millis(unix_ms).as_secs_f64()
}
