//! [`Redirects`]: the cache of redirects.

use super::{Consistency, NearCache, ServiceError};
use crate::domain::{Code, Link, Operation, PendingWrite};
use crate::store::Store;
use evenkeel::Keel;
use evenkeel::cache::{Cache, CacheBuilder, CacheError, Freshness};
use evenkeel::sql::{Effects, SqlError};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tracing::warn;

/// Time to live of a cached redirect. It bounds how long a row that something else changed is served stale; a shorter time costs
/// more loads.
const TTL: Duration = Duration::from_secs(10 * 60);

/// Time to live of a negative entry (no such link). Creating the link invalidates the entry, so this bounds the same as [`TTL`].
const ABSENT_TTL: Duration = Duration::from_secs(30);

/// Concurrent loads from the database on cache misses, or while Redis is unreachable.
pub const LOADS_MAX: usize = 64;

/// How long a load may take before the visitor gets 503.
const LOAD_TIMEOUT: Duration = Duration::from_secs(5);

/// Default capacity of the near cache, in links and in bytes: most URLs have about a hundred bytes, the longest 8,000.
const NEAR_LINKS: usize = 100_000;
const NEAR_BYTES: usize = 64 << 20;

/// Version of the stored format; see [`evenkeel::cache::CacheBuilder::schema`].
const SCHEMA: u32 = 2;

/// The fields of a [`Link`] that a redirect needs. The expiry is among them and is checked on every read, so an entry that outlives
/// its link redirects no visitor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedLink {
    /// The target URL, byte for byte.
    pub target: String,
    /// The expiry; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Whether the link is banned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub banned: bool,
    /// The link's version.
    #[serde(default)]
    pub version: i64,
}

impl CachedLink {
    /// The entry with a pending write applied.
    pub(super) fn after(mut self, write: &PendingWrite) -> Self {
        if let Operation::Change { patch, .. } = &write.operation {
            if let Some(target) = &patch.target {
                target.as_str().clone_into(&mut self.target);
            }
            self.expires_at = patch.expires_at.unwrap_or(self.expires_at);
            self.banned = patch.banned.unwrap_or(self.banned);
        }
        self
    }
}

/// The cache of redirects, in Redis or in this process, in front of the database.
#[derive(Clone, Debug)]
pub(super) struct Redirects {
    cache: Cache<str, CachedLink>,
    freshness: Freshness,
}

impl Redirects {
    /// Opens the cache. Strong consistency excludes the near cache, because every read must be fresh.
    ///
    /// # Errors
    /// [`CacheError::Settings`] if `keel` already has this cache, or Redis does not support the near cache that `near` requires.
    pub(super) async fn open(keel: &Keel, near: NearCache, is_strong: bool) -> Result<Self, CacheError> {
        if is_strong {
            return Ok(Redirects { cache: builder(keel).strong().open().await?, freshness: Freshness::Fresh });
        }
        let cache = match near {
            NearCache::Off => builder(keel).open().await?,
            NearCache::Capacity(links) => builder(keel).near(links).open().await?,
            NearCache::IfSupported => match builder(keel).near(NEAR_LINKS).near_bytes(NEAR_BYTES).open().await {
                Ok(cache) => cache,
                Err(error) => {
                    warn!(%error, "near cache disabled, every redirect reads Redis; set --near 0 to disable it without this warning");
                    builder(keel).open().await?
                }
            },
        };
        Ok(Redirects { cache, freshness: Freshness::Eventual })
    }

    /// Whether the cache must confirm a write before it begins.
    pub(super) fn is_strong(&self) -> bool {
        self.freshness == Freshness::Fresh
    }

    /// Reads the link of `code` through the cache.
    pub(super) async fn find(
        &self,
        code: &Code,
        store: &Store,
    ) -> Result<(Option<Arc<CachedLink>>, Consistency), ServiceError> {
        let load = |_: &str| {
            let (store, code) = (store.clone(), code.clone());
            async move { Ok::<_, crate::store::StoreError>(store.find(&code).await?.map(CachedLink::from)) }
        };
        let found = self.cache.get_with(code.as_str(), self.freshness, load).await?;
        let consistency = if found.stale.is_some() { Consistency::Eventual } else { Consistency::Consistent };
        Ok((found.value, consistency))
    }

    /// Reads the link of `code` from the near cache only.
    pub(super) fn find_near(&self, code: &str) -> Option<Arc<CachedLink>> {
        let found = self.cache.peek(code)?;
        if found.stale.is_some() { None } else { found.value }
    }

    /// Invalidates the entry of `code` on all instances when the unit of work commits.
    pub(super) fn invalidate(&self, code: &Code, effects: &mut Effects) -> Result<(), SqlError> {
        effects.invalidate(&self.cache, code.as_str())
    }

    /// Invalidates entries below the link's version. The version must be above those of all earlier states of this code; a late
    /// load of an earlier state is not cached then.
    pub(super) fn invalidate_below(&self, link: &Link, effects: &mut Effects) -> Result<(), SqlError> {
        effects.invalidate_at(&self.cache, link.code.as_str(), version(link.version))
    }
}

fn builder(keel: &Keel) -> CacheBuilder<str, CachedLink> {
    keel.cache::<str, CachedLink>("link")
        .ttl(TTL)
        .absent_ttl(ABSENT_TTL)
        .loads_max(LOADS_MAX)
        .load_timeout(LOAD_TIMEOUT)
        .schema(SCHEMA)
        .version(|link: &CachedLink| version(link.version))
}

/// A version as the cache takes it: at least 1.
fn version(version: i64) -> u64 {
    u64::try_from(version).unwrap_or(1).max(1)
}

impl From<Link> for CachedLink {
    fn from(link: Link) -> Self {
        let target = link.target.as_str().to_owned();
        CachedLink { target, expires_at: link.expires_at, banned: link.banned, version: link.version }
    }
}
