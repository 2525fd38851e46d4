//! [`Redirects`]: where codes lead, as the cache keeps it.

use super::{Consistency, Near, ServiceError};
use crate::domain::{Code, Link, NotedWrite, Wanted};
use crate::store::Store;
use evenkeel::Keel;
use evenkeel::cache::{Cache, CacheBuilder, CacheError, Freshness};
use evenkeel::sql::{Effects, SqlError};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tracing::warn;

/// How long a redirect may be served after its row was read. It bounds what a change behind the service's back leaves stale; a
/// shorter one costs a load per link and span.
const TTL: Duration = Duration::from_secs(10 * 60);

/// How long it is remembered that a code leads nowhere. A link made with it tells the cache, so this bounds the same as [`TTL`].
const ABSENT_TTL: Duration = Duration::from_secs(30);

/// How many different codes may be asked of the database at once while Redis knows nothing or is away.
pub const LOADS_MAX: usize = 64;

/// How long one such question may take before the visitor is told to come back.
const LOAD_TIMEOUT: Duration = Duration::from_secs(5);

/// Links an instance keeps at hand if nobody says how many, and what they may weigh in memory: most addresses have a hundred
/// bytes, the longest eight thousand.
const NEAR_LINKS: usize = 100_000;
const NEAR_BYTES: usize = 64 << 20;

/// The stored form has changed when this has; see [`evenkeel::cache::CacheBuilder::schema`].
const SCHEMA: u32 = 2;

/// Where a code leads: what of a [`Link`] a visitor needs. The end is kept with it and compared on every read, so an entry
/// that outlives its link redirects nobody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    /// The address, byte for byte.
    pub target: String,
    /// When it ends; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Whether somebody has forbidden it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub banned: bool,
    /// The version of the row.
    #[serde(default)]
    pub version: i64,
}

impl Destination {
    /// Where it leads after a change that waits for the database.
    pub(super) fn after(mut self, write: &NotedWrite) -> Self {
        if let Wanted::Change { patch, .. } = &write.wanted {
            if let Some(target) = &patch.target {
                target.as_str().clone_into(&mut self.target);
            }
            self.expires_at = patch.expires_at.unwrap_or(self.expires_at);
            self.banned = patch.banned.unwrap_or(self.banned);
        }
        self
    }
}

/// The cache of destinations, in Redis or in this process, over the database.
#[derive(Clone, Debug)]
pub(super) struct Redirects {
    cache: Cache<str, Destination>,
    freshness: Freshness,
}

impl Redirects {
    /// Opens the cache. In a strong one every read asks for the row as it is now, so nothing is kept near.
    ///
    /// # Errors
    /// [`CacheError::Settings`] if this keel has a cache of the same name already, or cannot keep links near that it must.
    pub(super) fn open(keel: &Keel, near: Near, is_strong: bool) -> Result<Self, CacheError> {
        if is_strong {
            return Ok(Redirects { cache: builder(keel).strong().build()?, freshness: Freshness::Fresh });
        }
        let cache = match near {
            Near::Off => builder(keel).build()?,
            Near::Links(links) => builder(keel).near(links).build()?,
            Near::IfPossible => builder(keel).near(NEAR_LINKS).near_bytes(NEAR_BYTES).build().or_else(|error| {
                warn!(%error, "no links are kept near: every redirect asks Redis; --near 0 says that this is meant");
                builder(keel).build()
            })?,
        };
        Ok(Redirects { cache, freshness: Freshness::Eventual })
    }

    /// Whether a write must be confirmed by the cache before it begins.
    pub(super) fn is_strong(&self) -> bool {
        self.freshness == Freshness::Fresh
    }

    /// Where `code` leads: as the cache has it, else as `store` has it.
    pub(super) async fn find(
        &self,
        code: &Code,
        store: &Store,
    ) -> Result<(Option<Arc<Destination>>, Consistency), ServiceError> {
        let load = |_: &str| {
            let (store, code) = (store.clone(), code.clone());
            async move { Ok::<_, crate::store::StoreError>(store.find(&code).await?.map(Destination::from)) }
        };
        let found = self.cache.get_with(code.as_str(), self.freshness, load).await?;
        let consistency = if found.stale.is_some() { Consistency::Eventual } else { Consistency::Consistent };
        Ok((found.value, consistency))
    }

    /// Where `code` leads, if that is at hand.
    pub(super) fn at_hand(&self, code: &str) -> Option<Arc<Destination>> {
        let found = self.cache.peek(code)?;
        if found.stale.is_some() { None } else { found.value }
    }

    /// Has the fleet told, once this work is committed, that `code` leads elsewhere.
    pub(super) fn forget(&self, code: &Code, effects: &mut Effects) -> Result<(), SqlError> {
        effects.invalidate(&self.cache, code.as_str())
    }

    /// The same of a link whose version no earlier state of this code has: one that is read late is not kept any more.
    pub(super) fn forget_before(&self, link: &Link, effects: &mut Effects) -> Result<(), SqlError> {
        effects.invalidate_at(&self.cache, link.code.as_str(), version(link.version))
    }
}

fn builder(keel: &Keel) -> CacheBuilder<str, Destination> {
    keel.cache::<str, Destination>("link")
        .ttl(TTL)
        .absent_ttl(ABSENT_TTL)
        .loads_max(LOADS_MAX)
        .load_timeout(LOAD_TIMEOUT)
        .schema(SCHEMA)
        .version(|destination: &Destination| version(destination.version))
}

/// A version as the cache counts them. None is below 1.
fn version(version: i64) -> u64 {
    u64::try_from(version).unwrap_or(1).max(1)
}

impl From<Link> for Destination {
    fn from(link: Link) -> Self {
        let target = link.target.as_str().to_owned();
        Destination { target, expires_at: link.expires_at, banned: link.banned, version: link.version }
    }
}
