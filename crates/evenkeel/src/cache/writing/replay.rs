//! Drives invalidations again: on a new epoch, before anybody may read through it, those of the last seconds, which a Redis that
//! failed over or was restarted may have lost; and those that failed, until they are done.

use super::deferral::Deferral;
use super::ledger::{Demand, Duty, Ledger};
use crate::cache::metrics::CacheMetrics;
use crate::cache::store::Store;
use crate::cache::store::hub::Hub;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{guard, together};
use evenkeel_link::{Epoch, LinkError};
use evenkeel_protocol::cache::error::CacheError;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// Invalidations on the way at once while they are driven again.
const BATCH_MAX: usize = 256;

/// The invalidations of one cache, and the duty to get them done.
pub(crate) struct Redrive {
    pub(crate) ledger: Ledger,
    store: Store,
    clock: Clock,
    metrics: Arc<CacheMetrics>,
    /// Of all caches of the keel; its driver is told what failed.
    hub: Arc<Hub>,
    deferral: Deferral,
}

/// An invalidation under way. Dropped before its end, nobody knows whether it happened: it is driven again.
pub(crate) struct Underway {
    redrive: Arc<Redrive>,
    duty: Duty,
    is_done: bool,
}

impl Redrive {
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

    /// Takes over what earlier processes, or earlier caches of this name, have left in the spool.
    pub(crate) fn take_over(self: &Arc<Self>) {
        for (key, demand, sequence) in self.deferral.left_over() {
            let (duty, _) = self.ledger.open(&key, demand, self.clock.now());
            self.ledger.failed(&duty);
            if !self.ledger.spooled(&key, sequence) {
                self.deferral.done(sequence);
            }
        }
        if self.ledger.owed() > 0 {
            self.tell_owed();
            self.hub.driver.owe(self, self.clock.now());
            // Without a runtime it begins with the first invalidation.
            if tokio::runtime::Handle::try_current().is_ok() {
                self.hub.driver.start(&self.clock);
            }
        }
    }

    /// Sends an invalidation, and answers for it from now on.
    pub(crate) fn begin(self: &Arc<Self>, key: &[u8], demand: Demand) -> Underway {
        self.hub.driver.start(&self.clock);
        let (duty, driven_out) = self.ledger.open(key, demand, self.clock.now());
        self.metrics.forgotten.increment(driven_out);
        Underway { redrive: Arc::clone(self), duty, is_done: false }
    }

    /// Drives what is owed, once. The number is what is still owed.
    pub(crate) async fn run_once(&self) -> usize {
        for batch in self.ledger.failures().chunks(BATCH_MAX) {
            let sent = batch.iter().map(|duty| self.drive(duty, None));
            // If the first of a batch fails, so would the rest of the list.
            if together(sent).await.iter().any(Result::is_err) {
                break;
            }
        }
        let owed = self.ledger.owed();
        if owed == 0 {
            self.metrics.redrive_success.set(seconds(self.clock.unix_ms()));
        }
        owed
    }

    /// Whether there is nothing that would be driven again.
    pub(crate) fn is_idle(&self) -> bool {
        self.ledger.everything(self.clock.now()).is_empty()
    }

    async fn drive(&self, duty: &Duty, epoch: Option<&Epoch>) -> Result<(), CacheError> {
        let invalidation = duty.demand.invalidation();
        let answer = match epoch {
            Some(epoch) => self.store.invalidate_on(epoch, &duty.key, &invalidation).await,
            None => self.store.invalidate(&duty.key, &invalidation).await,
        };
        match &answer {
            Ok(()) => {
                self.metrics.redriven.increment(1);
                self.strike_off(duty);
            }
            Err(_) => self.ledger.failed(duty),
        }
        self.tell_owed();
        answer
    }

    /// Drives what a Redis that lost data may have forgotten, on an epoch that is not published yet.
    pub(crate) async fn drive_before_open(&self, epoch: &Epoch) -> Result<(), LinkError> {
        if !guard("redrive_before_publish") {
            return Ok(());
        }
        for batch in self.ledger.everything(self.clock.now()).chunks(BATCH_MAX) {
            let sent = batch.iter().map(|duty| self.drive(duty, Some(epoch)));
            for answer in together(sent).await {
                // What the server refuses for this key alone stays owed, and is not read meanwhile; it must not keep all
                // others from an epoch that is otherwise well.
                if let Err(CacheError::Link(error)) = answer
                    && !matches!(error, LinkError::Refused { .. } | LinkError::Unexpected(_))
                {
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn strike_off(&self, duty: &Duty) {
        if let Some(sequence) = self.ledger.done(duty, self.clock.now()) {
            self.deferral.done(sequence);
        }
    }

    fn tell_owed(&self) {
        // A count of keys; nothing real is too large for a float.
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
        self.metrics.owed.set(self.ledger.owed() as f64);
    }
}

impl Underway {
    pub(crate) fn demand(&self) -> Demand {
        self.duty.demand
    }

    pub(crate) fn done(mut self) {
        self.is_done = true;
        self.redrive.strike_off(&self.duty);
        self.redrive.tell_owed();
    }

    /// It failed. Says whether it is written down where the next process finds it; this one drives it in either case.
    pub(crate) async fn defer(mut self) -> bool {
        self.give_up().await
    }

    /// Owes it from now on. The future says whether the spool has it; it need not be waited for.
    fn give_up(&mut self) -> impl Future<Output = bool> + Send + use<> {
        self.is_done = true;
        if guard("invalidation_is_owed") {
            self.redrive.ledger.failed(&self.duty);
            self.redrive.tell_owed();
            self.redrive.hub.driver.owe(&self.redrive, self.redrive.clock.now());
        }
        self.redrive.deferral.keep(&self.redrive, &self.duty)
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        if !self.is_done {
            drop(self.give_up());
        }
    }
}

fn seconds(unix_ms: u64) -> f64 {
    Duration::from_millis(unix_ms).as_secs_f64()
}
