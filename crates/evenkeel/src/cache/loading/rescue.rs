//! Older values in place of a load that fails or is slow.

use super::loader::Loader;
use super::plan::Plan;
use crate::cache::core::Core;
use crate::cache::reading::demand::ReadPolicy;
use crate::cache::reading::found::{Found, Stale};
use evenkeel_link::clock::Moment;
use evenkeel_protocol::cache::error::CacheError;
use std::sync::Arc;

impl<V: Send + Sync + 'static> Core<V> {
    /// The result of a load, or instead of its error an older value that the policy accepts.
    pub(crate) fn rescued(
        &self,
        answer: Result<Found<V>, CacheError>,
        policy: ReadPolicy,
        rescue: Option<Found<V>>,
        seen: Moment,
    ) -> Result<Found<V>, CacheError> {
        answer.or_else(|error| {
            let rescued =
                rescue.and_then(|found| self.rescue(found, policy, seen, Stale::LoaderFailed)).ok_or(error)?;
            self.metrics.rescued_failed.increment(1);
            Ok(rescued)
        })
    }

    /// A value that was read at `seen` and did not satisfy the policy, if it is accepted now in place of a better one.
    pub(crate) fn rescue(&self, found: Found<V>, policy: ReadPolicy, seen: Moment, why: Stale) -> Option<Found<V>> {
        // It is older now.
        let aged = Found { age: found.age + self.clock.now().since(seen), ..found };
        let rescued = policy.rescue(aged, self.settings.fail_safe, why)?;
        self.metrics.served_stale(rescued.age);
        Some(rescued)
    }

    /// Loads for a reader that may fall back to `rescue` if the load fails, or if it is slow; a slow load continues.
    pub(crate) async fn load_or_rescue(
        self: &Arc<Self>,
        key: &[u8],
        plan: Plan,
        policy: ReadPolicy,
        rescue: Option<Found<V>>,
        loader: impl FnOnce() -> Loader<V>,
    ) -> Result<Found<V>, CacheError> {
        let seen = self.clock.now();
        let mut load = std::pin::pin!(self.load(key, plan, policy, loader));
        if let (Some(soft), Some(found)) = (self.settings.load_soft_timeout, &rescue) {
            match self.clock.timeout(soft, &mut load).await {
                Ok(answer) => return self.rescued(answer, policy, rescue, seen),
                Err(_) => {
                    if let Some(served) = self.rescue(found.clone(), policy, seen, Stale::LoaderSlow) {
                        self.metrics.rescued_slow.increment(1);
                        return Ok(served);
                    }
                }
            }
        }
        let answer = load.await;
        self.rescued(answer, policy, rescue, seen)
    }
}
