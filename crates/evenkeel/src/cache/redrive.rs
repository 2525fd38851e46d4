//! Drives invalidations again: on a new epoch, before anybody may read through it, those of the last seconds, which a Redis that
//! failed over or was restarted may have lost; and those that failed, until they are done.

use super::deferral::Deferral;
use super::error::CacheError;
use super::ledger::{Demand, Duty, Ledger};
use super::metrics::CacheMetrics;
use super::store::Store;
use crate::background::Background;
use crate::clock::Clock;
use crate::guard::guard;
use crate::link::{Epoch, EpochHook, LinkError};
use crate::retry::Backoff;
use crate::together::together;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use tokio::sync::Notify;

/// Invalidations on the way at once while they are driven again.
const BATCH_MAX: usize = 256;
const BACKOFF: Backoff = Backoff { delay_min: Duration::from_millis(50), delay_max: Duration::from_secs(2) };

/// The invalidations of one cache, and the duty to get them done.
pub(crate) struct Redrive {
    pub(crate) ledger: Ledger,
    store: Store,
    clock: Clock,
    metrics: Arc<CacheMetrics>,
    owing: Arc<Notify>,
    driver: OnceLock<Background>,
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
    ) -> Self {
        let (store, clock, metrics) = (store.clone(), clock.clone(), Arc::clone(metrics));
        Self { ledger, store, clock, metrics, owing: Arc::default(), driver: OnceLock::new(), deferral }
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
            self.owing.notify_one();
            // Without a runtime it begins with the first invalidation.
            if tokio::runtime::Handle::try_current().is_ok() {
                self.driver.get_or_init(|| self.start());
            }
        }
    }

    /// Sends an invalidation, and answers for it from now on.
    pub(crate) fn begin(self: &Arc<Self>, key: &[u8], demand: Demand) -> Underway {
        self.driver.get_or_init(|| self.start());
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

    fn strike_off(&self, duty: &Duty) {
        if let Some(sequence) = self.ledger.done(duty, self.clock.now()) {
            self.deferral.done(sequence);
        }
    }

    /// A loop that sleeps until something is owed. It holds no handle, so it ends with the cache.
    fn start(self: &Arc<Self>) -> Background {
        let (this, owing, clock) = (Arc::downgrade(self), Arc::clone(&self.owing), self.clock.clone());
        Background::spawn("cache redrive", clock.clone(), move || {
            drive_what_is_owed(Weak::clone(&this), Arc::clone(&owing), clock.clone())
        })
    }

    fn tell_owed(&self) {
        // A count of keys; nothing real is too large for a float.
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
        self.metrics.owed.set(self.ledger.owed() as f64);
    }
}

async fn drive_what_is_owed(redrive: Weak<Redrive>, owing: Arc<Notify>, clock: Clock) {
    loop {
        owing.notified().await;
        let mut attempt = 0;
        loop {
            let Some(redrive) = redrive.upgrade() else { return };
            if redrive.run_once().await == 0 {
                break;
            }
            drop(redrive);
            clock.sleep(BACKOFF.delay(attempt)).await;
            attempt += 1;
        }
    }
}

impl EpochHook for Redrive {
    fn open<'a>(&'a self, epoch: &'a Epoch) -> Pin<Box<dyn Future<Output = Result<(), LinkError>> + Send + 'a>> {
        Box::pin(async move {
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
        })
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
            self.redrive.owing.notify_one();
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
