//! [`CacheAdmin`]: the operator's handle on a cache, independent of the types of its keys and values.

pub use evenkeel_protocol::cache::header::{Entry, Header, HeaderError, LeaseBlock, Value, Verdict, Window};
pub use evenkeel_protocol::cache::steps::Mode;

use super::settings::checks::{check_name, check_span, keys_named};
use super::store::registry::Caches;
use super::writing::invalidate::Invalidated;
use super::writing::ledger::Demand;
use bytes::Bytes;
use evenkeel_link::Link;
use evenkeel_link::support::{Tried, ms};
use evenkeel_protocol::cache::error::CacheError;
use std::sync::Arc;
use std::time::Duration;

/// The operator's handle on a cache; cheap to clone. Built by [`Keel::cache_admin`](crate::Keel::cache_admin).
///
/// A key is a text: as [`key_text`](super::key_text) returns it, as Redis shows it between the braces, or, for a cache whose keys are text,
/// the key itself (docs/spec/cache.md, "Keys as text"). An entry whose key is not UTF-8 has no text, and is reached by programs only.
///
/// ```
/// use evenkeel::Keel;
/// use std::convert::Infallible;
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), evenkeel::cache::CacheError> {
/// let keel = Keel::memory();
/// let users = keel.cache::<u64, String>("user").ttl(Duration::from_secs(600)).open().await?;
/// users.get(&42, |_| async { Ok::<_, Infallible>(Some("Ada".to_owned())) }).await?;
///
/// let admin = keel.cache_admin("user")?;
/// assert!(admin.inspect("42").await?.entry.is_some());
/// admin.purge("42").await?;
/// assert!(admin.inspect("42").await?.value().is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CacheAdmin {
    caches: Arc<Caches>,
    name: Arc<str>,
}

/// What the store has under a key.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inspected {
    /// The store's time in ms since 1970, as precisely as this process knows it. The times of the entry are on the same clock.
    pub now_ms: u64,
    /// The entry; `None` if there is none, or it has ended.
    pub entry: Option<Result<Entry, HeaderError>>,
}

impl Inspected {
    /// The stored value, if a reader may still receive it: also one that was invalidated and is retained.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        let header = &self.entry.as_ref()?.as_ref().ok()?.header;
        (header.verdict(self.now_ms) != Verdict::Miss).then_some(header.value.as_ref()).flatten()
    }
}

/// An invalidation by an operator, who does not have the settings of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outdated {
    /// The minimum version that may be stored from now on; `None`: any.
    pub version: Option<u64>,
    /// What happens to the old value.
    pub mode: Mode,
    /// How far the replicas that loaders read may lag behind; zero if loaders read the primary, or if you do not know: an entry that a
    /// loader of replicas has used records the time of every invalidation.
    pub lag_max: Duration,
}

impl CacheAdmin {
    pub(crate) fn new(caches: &Arc<Caches>, name: &str) -> Result<Self, CacheError> {
        check_name(name).map_err(|reason| CacheError::Settings { cache: name.to_owned(), reason })?;
        Ok(Self { caches: Arc::clone(caches), name: name.into() })
    }

    /// The name of the cache.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The entry that a text names; if it names several, the first that there is. Costs a `GET` for each.
    ///
    /// Not guaranteed: that a reader finds the same, because it may read a near cache of its process.
    ///
    /// # Errors
    /// [`CacheError::Link`]; [`CacheError::Settings`] if no key has this text. An entry that cannot be decoded is not an error; it is
    /// written by a newer program, or by another protocol than the fenced one.
    pub async fn inspect(&self, key: &str) -> Result<Inspected, CacheError> {
        let mut found = Inspected { now_ms: 0, entry: None };
        for key in self.keys(key)? {
            found = self.inspect_key(&key).await?;
            if found.entry.is_some() {
                break;
            }
        }
        Ok(found)
    }

    async fn inspect_key(&self, key: &[u8]) -> Result<Inspected, CacheError> {
        let stored = self.caches.steps(&self.name).read(key).await?;
        let context = &self.caches.context;
        let now_ms = context.link.as_ref().map_or_else(|| context.clock.unix_ms(), Link::server_now_ms);
        let entry = stored
            .map(Entry::parse)
            .filter(|entry| entry.as_ref().map_or(true, |entry| entry.header.ends_at_ms > now_ms));
        Ok(Inspected { now_ms, entry })
    }

    /// Purges an entry: its value is never served again, not even to a reader whose load fails.
    ///
    /// # Errors
    /// As [`invalidate`](Self::invalidate).
    pub async fn purge(&self, key: &str) -> Result<Invalidated, CacheError> {
        self.invalidate(key, Outdated { version: None, mode: Mode::Purge, lag_max: Duration::ZERO }).await
    }

    /// Invalidates an entry, with the guarantee of [`Cache::invalidate`](super::Cache::invalidate): no process stores a value that was
    /// read from the database before it. If the cache is open in this process, its handle carries it out. If a text names several entries,
    /// all of them are invalidated. [`Invalidated::NoEntry`] says that there was none: check the names of the cache and of the key.
    ///
    /// Not guaranteed: that this is recorded for a replay after a failover, unless the cache is open in this process.
    ///
    /// # Errors
    /// [`CacheError::Link`]: repeat the call. [`CacheError::Settings`]: no key has this text, or the time is longer than 34 years; nothing
    /// was changed.
    pub async fn invalidate(&self, key: &str, outdated: Outdated) -> Result<Invalidated, CacheError> {
        let keys = self.keys(key)?;
        let Outdated { version, mode, lag_max } = outdated;
        let retain_ms = if let Mode::Expire { retain_ms } = mode { retain_ms } else { 0 };
        check_span(retain_ms.max(ms(lag_max))).map_err(|reason| self.refused(reason))?;
        let demand = Demand { mode, floor: version, lag_ms_max: ms(lag_max) };
        let (mut result, mut tried) = (Invalidated::NoEntry, Tried::unless(CacheError::is_retryable));
        for key in keys {
            // Only for the result: the invalidation does not depend on it.
            let is_stored = self.inspect_key(&key).await.is_ok_and(|found| found.entry.is_some());
            let Some(one) = tried.note(self.caches.invalidate(&self.name, &key, demand).await)? else { continue };
            if one != Invalidated::Done || (is_stored && result == Invalidated::NoEntry) {
                result = one;
            }
        }
        tried.finish().map(|()| result)
    }

    /// The keys that a text names.
    fn keys(&self, text: &str) -> Result<Vec<Bytes>, CacheError> {
        let keys = keys_named(text).map_err(|reason| self.refused(reason))?;
        Ok(keys.into_iter().map(Bytes::from).collect())
    }

    fn refused(&self, reason: String) -> CacheError {
        CacheError::Settings { cache: self.name.to_string(), reason }
    }
}
