//! Batched reads and invalidations of [`Cache`].

use super::batch::LoadMany;
use super::demand::ReadPolicy;
use super::found::{Found, Tier};
use crate::cache::cache::Cache;
use crate::cache::key::{CacheKey, KeyBytes};
use crate::cache::loading::loader::{BatchLoader, batch_loader};
use crate::cache::settings::freshness::{Freshness, Source};
use crate::cache::writing::invalidate::Invalidated;
use evenkeel_link::support::{guard, in_groups};
use evenkeel_protocol::cache::error::CacheError;
use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;
use tracing::Instrument;

/// A batch in which some keys failed.
///
/// `?` converts it into a [`CacheError`] (the first of `failed`); a caller that accepts a partial result uses `found`.
#[derive(Debug)]
pub struct Incomplete<K, V> {
    /// The keys with a result; `None` means that the row does not exist.
    pub found: HashMap<K, Option<Arc<V>>>,
    /// The keys that failed, with their errors.
    pub failed: HashMap<K, CacheError>,
}

impl<K: CacheKey + Clone + Eq + Hash + Sync, V: Send + Sync + 'static> Cache<K, V> {
    /// Returns the values under `keys`, as [`get`](Self::get) does for each of them, with one read of the store and one run of
    /// `load` for all missing keys. `load` returns the rows that it finds with the keys that were requested; a key that it does
    /// not return does not exist, and that is cached, too. (If it also returns keys that were not requested, nothing is cached of
    /// those that it does not return: a case-insensitive column finds the row of `Ada` for `ada`.)
    ///
    /// The keys are independent: a batch waits for running loads of its keys instead of repeating them (after its own loads
    /// have ended; if such a load returned no usable value, `load` is called again), and an invalidation of one key prevents
    /// the fill of that key only. A value that is due for refresh is served, and refreshed in the background by a run of its
    /// own.
    ///
    /// If the loader fails, the keys with which it was called fail. One run counts as one load of `loads_max`.
    ///
    /// Keys are borrowed as in [`get`](Self::get): `&str` for keys of type `String`.
    ///
    /// ```
    /// # use evenkeel::Keel;
    /// # use std::{convert::Infallible, time::Duration};
    /// # async fn find(_: Vec<String>) -> Result<Vec<(String, u32)>, Infallible> { Ok(vec![("tea".to_owned(), 7)]) }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let stock = Keel::memory().cache::<String, u32>("stock").ttl(Duration::from_secs(600)).open().await?;
    /// let found = stock.get_many(["tea", "salt"], |names| find(names)).await.map_err(evenkeel::cache::CacheError::from)?;
    /// assert_eq!(found["tea"].as_deref(), Some(&7));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Incomplete`] if any key failed, with the results of all others.
    pub async fn get_many<'k, Q, F, Load, Rows, E>(
        &self,
        keys: impl IntoIterator<Item = &'k Q>,
        load: F,
    ) -> Result<HashMap<K, Option<Arc<V>>>, Incomplete<K, V>>
    where
        K: Borrow<Q>,
        Q: ToOwned<Owned = K> + ?Sized + 'k,
        F: Fn(Vec<K>) -> Load + Send + Sync,
        Load: Future<Output = Result<Rows, E>> + Send + 'static,
        Rows: IntoIterator<Item = (K, V)>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        Box::pin(self.get_many_from(keys, self.core.settings.freshness, |keys, _| load(keys))).await
    }

    /// Like [`get_many`](Self::get_many), with the freshness that all of these reads need, and with a loader that receives the
    /// [`Source`] from which it may read ([`CacheBuilder::reads_replicas`](crate::cache::CacheBuilder::reads_replicas)). If one
    /// key must be read from the primary, all keys of its run are.
    ///
    /// # Errors
    /// As [`get_many`](Self::get_many).
    pub async fn get_many_from<'k, Q, F, Load, Rows, E>(
        &self,
        keys: impl IntoIterator<Item = &'k Q>,
        freshness: Freshness,
        load: F,
    ) -> Result<HashMap<K, Option<Arc<V>>>, Incomplete<K, V>>
    where
        K: Borrow<Q>,
        Q: ToOwned<Owned = K> + ?Sized + 'k,
        F: Fn(Vec<K>, Source) -> Load + Send + Sync,
        Load: Future<Output = Result<Rows, E>> + Send + 'static,
        Rows: IntoIterator<Item = (K, V)>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let owned: Vec<K> = keys.into_iter().map(ToOwned::to_owned).collect();
        let mut seen = HashSet::with_capacity(owned.len());
        let keys: Vec<&K> = owned.iter().filter(|key| seen.insert(*key)).collect();
        let bytes: Vec<KeyBytes> = keys.iter().map(|key| KeyBytes::new(*key)).collect();
        let load = |places: &[usize], source| -> BatchLoader<V> {
            batch_loader(load(places.iter().map(|at| keys[*at].clone()).collect(), source))
        };
        let answers = match self.core.policy(freshness) {
            Ok(policy) => self.traced_many(&bytes, policy, &load).await,
            Err(error) => keys.iter().map(|_| Err(error.clone())).collect(),
        };
        let mut found = HashMap::with_capacity(keys.len());
        let mut failed = HashMap::new();
        for (key, answer) in keys.iter().copied().cloned().zip(answers) {
            match answer {
                Ok(answer) => _ = found.insert(key, answer.value),
                Err(error) => _ = failed.insert(key, error),
            }
        }
        if !failed.is_empty() && !guard("batch_fails_per_key") {
            found.clear();
        }
        if failed.is_empty() { Ok(found) } else { Err(Incomplete { found, failed }) }
    }

    async fn traced_many(
        &self,
        keys: &[KeyBytes],
        policy: ReadPolicy,
        load: &LoadMany<'_, V>,
    ) -> Vec<Result<Found<V>, CacheError>> {
        let read = self.core.get_many(keys, policy, load);
        if !tracing::enabled!(tracing::Level::DEBUG) {
            return read.await;
        }
        let empty = tracing::field::Empty;
        let span = tracing::debug_span!(
            "cache.get_many",
            cache = &*self.core.name,
            keys = keys.len(),
            loaded = empty,
            failed = empty
        );
        let traced = async {
            let answers = read.await;
            let loaded = |answer: &&Result<Found<V>, _>| matches!(answer, Ok(found) if found.tier == Tier::Loader);
            let span = tracing::Span::current();
            span.record("loaded", answers.iter().filter(loaded).count());
            span.record("failed", answers.iter().filter(|answer| answer.is_err()).count());
            answers
        };
        Box::pin(traced.instrument(span)).await
    }

    /// Invalidates all `keys`, as [`invalidate`](Self::invalidate) does for each of them. The commands are sent together.
    ///
    /// # Errors
    /// As [`invalidate`](Self::invalidate), the first error. All other keys were tried, and those that failed are replayed.
    pub async fn invalidate_many<'k>(&self, keys: impl IntoIterator<Item = &'k K>) -> Result<Invalidated, CacheError>
    where
        K: 'k,
    {
        let sent = keys.into_iter().map(|key| self.invalidate(key));
        let answers = in_groups(self.core.store.together_max(), sent).await;
        answers.into_iter().try_fold(Invalidated::Done, |all, one| Ok(all.and(one?)))
    }
}

impl<K, V> fmt::Display for Incomplete<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (failed, all) = (self.failed.len(), self.failed.len() + self.found.len());
        write!(f, "{failed} of {all} keys failed")?;
        self.failed.values().next().map_or(Ok(()), |error| write!(f, "; one of the errors: {error}"))
    }
}

impl<K: fmt::Debug, V: fmt::Debug> Error for Incomplete<K, V> {}

impl<K, V> From<Incomplete<K, V>> for CacheError {
    fn from(incomplete: Incomplete<K, V>) -> Self {
        incomplete.failed.into_values().next().unwrap_or(Self::LoaderDropped)
    }
}
