//! Carries out the effects of a batch: rule after rule, the keys of a rule in parallel, the changes of a key in order.

use super::batch::ByKey;
use super::rows::ToPark;
use super::{ParkedKeys, Reader, UNAVAILABLE};
use crate::cdc::rules::{Changed, Effect, Rule};
use evenkeel_link::support::guard;
use futures_util::StreamExt;
use futures_util::stream;
use std::sync::Arc;

/// How many keys of a rule are in progress at once.
const TOGETHER_MAX: usize = 64;
/// How often a function is called for one change before its key is parked.
const ATTEMPTS_MAX: u32 = 5;

impl Reader {
    /// Carries out the changes of one rule, and returns the keys that are to be parked. `parked` keys are skipped.
    pub(super) async fn apply(&self, rule: &Rule, work: ByKey, parked: &ParkedKeys) -> Vec<ToPark> {
        let keys = work.into_iter().filter(|(key, _)| {
            let is_parked = !parked.is_empty() && parked.contains(&(Arc::clone(&rule.name), key.clone()));
            !(is_parked && guard("cdc_parked_waits"))
        });
        let effects = keys.map(|(key, changes)| self.apply_key(rule, key, changes));
        let parked: Vec<Option<ToPark>> = stream::iter(effects).buffer_unordered(TOGETHER_MAX).collect().await;
        parked.into_iter().flatten().collect()
    }

    async fn apply_key(&self, rule: &Rule, key: Vec<u8>, changes: Vec<Changed>) -> Option<ToPark> {
        let failed = match &rule.effect {
            #[cfg(feature = "cache")]
            Effect::Invalidate(cache) => self.invalidate(cache, &key).await,
            Effect::Call(function) => {
                let mut failed = None;
                for change in changes {
                    failed = self.call(function.as_ref(), change).await.err();
                    if failed.is_some() {
                        break;
                    }
                }
                failed
            }
        };
        let Some(error) = failed else {
            self.metrics.effects.increment(1);
            return None;
        };
        self.metrics.parked.increment(1);
        let shown = String::from_utf8_lossy(&key);
        tracing::error!(source = %self.rows.name, rule = %rule.name, key = ?shown, error, "a key is parked: its changes are skipped until it is released");
        Some(ToPark { rule: Arc::clone(&rule.name), key, error })
    }

    /// Invalidates until Redis has applied it. An error says that no repetition helps: no entry can have this key.
    #[cfg(feature = "cache")]
    async fn invalidate(&self, cache: &crate::cache::CacheOfWork, key: &[u8]) -> Option<String> {
        use crate::cache::Invalidated;
        let demand = cache.demand(false, None);
        match cache.open.invalidate_key(bytes::Bytes::copy_from_slice(key), demand).await {
            // One that the spool of this process took is not applied yet, and this machine's disk may be lost.
            Ok(Invalidated::Deferred) => {}
            Ok(_) => return None,
            Err(error) if error.is_retryable() => {}
            Err(error) => return Some(error.to_string()),
        }
        // This process replays it. Sent again, it would be in the spool once more after each attempt.
        let mut failures = 0;
        while !cache.open.is_applied(key) {
            self.metrics.retries.increment(1);
            self.clock.sleep(UNAVAILABLE.delay(failures)).await;
            failures = failures.saturating_add(1);
        }
        None
    }

    async fn call(
        &self,
        function: &(dyn Fn(Changed) -> futures_util::future::BoxFuture<'static, Result<(), String>> + Send + Sync),
        change: Changed,
    ) -> Result<(), String> {
        let mut failures = 0;
        loop {
            let error = match function(change.clone()).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            failures += 1;
            if failures == ATTEMPTS_MAX {
                return Err(error);
            }
            self.metrics.retries.increment(1);
            self.clock.sleep(UNAVAILABLE.delay(failures)).await;
        }
    }
}
