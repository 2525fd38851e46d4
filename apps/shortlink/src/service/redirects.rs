//! [`Redirects`]: where codes lead, as the cache keeps it.

use super::{Consistency, Near, ServiceError};
use crate::domain::{Code, Link};
use crate::store::Store;
use evenkeel::Keel;
use evenkeel::cache::{Cache, CacheBuilder, CacheError, Freshness};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tracing::warn;

/// How long a redirect may be served after its row was read. It bounds what a process that is killed between a commit and its
/// invalidation leaves stale; a shorter one costs a load per link and span.
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
const SCHEMA: u32 = 1;

/// Where a code leads: what of a [`Link`] a visitor needs. The end is kept with it and compared on every read, so an entry
/// that outlives its link redirects nobody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    /// The address, byte for byte.
    pub target: String,
    /// When it ends; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// The cache of destinations, in Redis or in this process, over the database.
#[derive(Clone, Debug)]
pub(super) struct Redirects {
    cache: Cache<str, Destination>,
}

impl Redirects {
    /// Opens the cache.
    ///
    /// # Errors
    /// [`CacheError::Settings`] if this keel has a cache of the same name already, or cannot keep links near that it must.
    pub(super) fn open(keel: &Keel, near: Near) -> Result<Self, CacheError> {
        let cache = match near {
            Near::Off => builder(keel).build()?,
            Near::Links(links) => builder(keel).near(links).build()?,
            Near::IfPossible => builder(keel).near(NEAR_LINKS).near_bytes(NEAR_BYTES).build().or_else(|error| {
                warn!(%error, "no links are kept near: every redirect asks Redis; --near 0 says that this is meant");
                builder(keel).build()
            })?,
        };
        Ok(Redirects { cache })
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
        let found = self.cache.get_with(code.as_str(), Freshness::Eventual, load).await?;
        let consistency = if found.stale.is_some() { Consistency::Eventual } else { Consistency::Consistent };
        Ok((found.value, consistency))
    }

    /// Where `code` leads, if that is at hand.
    pub(super) fn at_hand(&self, code: &str) -> Option<Arc<Destination>> {
        let found = self.cache.peek(code)?;
        if found.stale.is_some() { None } else { found.value }
    }

    /// Tells the fleet that `code` leads elsewhere now. The database has it already: what fails here is driven again by the
    /// cache, and this process asks the database for this code until it is done.
    pub(super) async fn forget(&self, code: &Code) -> Consistency {
        match self.cache.invalidate(code.as_str()).await {
            Ok(_) => Consistency::Consistent,
            Err(error) => {
                warn!(%code, %error, "the cache could not be told of a change; it will be, as soon as Redis answers");
                Consistency::Eventual
            }
        }
    }
}

fn builder(keel: &Keel) -> CacheBuilder<str, Destination> {
    keel.cache::<str, Destination>("link")
        .ttl(TTL)
        .absent_ttl(ABSENT_TTL)
        .loads_max(LOADS_MAX)
        .load_timeout(LOAD_TIMEOUT)
        .schema(SCHEMA)
}

impl From<Link> for Destination {
    fn from(link: Link) -> Self {
        Destination { target: link.target.as_str().to_owned(), expires_at: link.expires_at }
    }
}
