//! Published cache protocols for the caches of `evenkeel`, for teams that use one already or want to compare.
//!
//! The default of a cache is Evenkeel's own fenced protocol, under which no stale value survives. The three protocols here come from
//! the literature, each as strong as it can be without becoming another protocol:
//!
//! | protocol | idea |
//! |---|---|
//! | [`Protocol::Lease`] | a miss returns a 64-bit token, and a fill requires that the token still exists |
//! | [`Protocol::Version`] | a fill is rejected if its row version is below the stored one; writes update or mark, and never delete |
//! | [`Protocol::DelayedDoubleDelete`] | delete before and after the write, and once more after a delay |
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use evenkeel::Keel;
//! use evenkeel_published::Protocol;
//! use std::time::Duration;
//!
//! let keel = Keel::memory(); // or Keel::connect("redis://127.0.0.1").await?
//! let cache = keel.cache::<u64, String>("name").ttl(Duration::from_secs(600));
//! let names = cache.protocol(Protocol::Lease).open().await?;
//! let name = names.get(&42, |id| { let id = *id; async move { Ok::<_, std::io::Error>(Some(format!("user {id}"))) } }).await?;
//! assert_eq!(name.as_deref().map(String::as_str), Some("user 42"));
//! # Ok(())
//! # }
//! ```
//!
//! Their limits:
//!
//! * `Lease` serves no stale value during a reload and does not refresh ahead. The value of a load that is longer than its lease is
//!   discarded, so a slow key under traffic is never stored. A failover that loses a delete revives its token.
//! * `Version` loses the marker with the key (expiry, eviction, flush), and a slow load may then store an older row.
//! * `DelayedDoubleDelete` does not cover a load that takes longer than the delay.
//! * None has update windows, a near cache, or invalidations in a unit of work.
//!
//! They share the entry format, the single-flight calls and the loader rules of the fenced cache, and implement the same steps
//! ([`CacheSteps`]).
//!
//! Sources: R. Nishtala and others, "Scaling Memcache at Facebook", NSDI 2013 (leases); Uber Engineering, "How Uber serves over
//! 150 million reads per second from an integrated cache" (versions); the delayed double delete is folklore.

#![allow(clippy::disallowed_types, reason = "this crate stands above the handle, as programs do")]

mod double_delete;
mod lease;
mod second_delete;
mod store;
mod version;

use async_trait::async_trait;
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::cache::{CacheError, CacheProtocol, ProtocolContext};
use evenkeel_link::{Epoch, Token};
use evenkeel_protocol::cache::steps::{
    BeginWrite, Begun, CacheSteps, Ended, Fill, Filled, Grant, Invalidation, Lease, Leased, Renewed,
};
use second_delete::SecondDeletes;
use std::sync::Arc;
use std::time::Duration;
use store::PlainStore;

/// A published protocol, for [`CacheBuilder::protocol`](evenkeel::cache::CacheBuilder::protocol).
#[derive(Clone)]
#[non_exhaustive]
pub enum Protocol {
    /// Facebook's leases: a miss returns a token, which every delete voids.
    Lease,
    /// Uber's version comparison: loaders must return a row version, and writers invalidate with the new one.
    Version,
    /// Delete, write, delete again after `delay`. The delay must exceed the longest load, which cannot be known. The second delete
    /// is a delayed job, which survives the process; a timer, if the queue does not accept the job.
    DelayedDoubleDelete {
        /// The time from the first delete to the second.
        delay: Duration,
        /// The keel of the cache. Its queue `second-delete.CACHE` has the second deletes.
        keel: Keel,
    },
}

impl CacheProtocol for Protocol {
    fn open(&self, cache: ProtocolContext) -> Result<Arc<dyn CacheSteps>, String> {
        if matches!(self, Self::Version) && !cache.has_versions {
            return Err(
                "Protocol::Version compares versions; set the version function of the cache with version(..)".into()
            );
        }
        let store = PlainStore { keys: cache.keys, clock: cache.clock, place: cache.store };
        let rules = match self {
            Self::Lease => Rules::Lease,
            Self::Version => Rules::Version,
            Self::DelayedDoubleDelete { delay, keel } => Rules::DoubleDelete {
                delay: *delay,
                second: SecondDeletes::new(keel.clone(), &cache.name, store.clone()),
            },
        };
        Ok(Arc::new(PublishedCache { rules, store, schema: cache.schema }))
    }
}

/// A published protocol over one store.
struct PublishedCache {
    rules: Rules,
    store: PlainStore,
    /// Fingerprint of the value's schema.
    schema: u32,
}

/// The chosen protocol, with what it needs.
enum Rules {
    Lease,
    Version,
    DoubleDelete { delay: Duration, second: SecondDeletes },
}

#[async_trait]
impl CacheSteps for PublishedCache {
    async fn read(&self, key: &[u8]) -> Result<Option<Bytes>, CacheError> {
        self.store.get(key).await
    }

    async fn lease(&self, key: &[u8], lease: &Lease) -> Result<Leased, CacheError> {
        match &self.rules {
            Rules::Lease => return lease::lease(&self.store, key, lease).await,
            Rules::Version => {}
            Rules::DoubleDelete { second, .. } => second.watch(),
        }
        // The protocols without a lease grant every request.
        let (generation, at_ms) = (lease.generation, self.store.now_ms());
        Ok(Leased::Granted(Grant { generation, ordinal: 1, at_ms, primary_required: false }))
    }

    async fn fill(&self, key: &[u8], fill: &Fill) -> Result<Filled, CacheError> {
        match &self.rules {
            Rules::Lease => lease::fill(&self.store, key, fill, self.schema).await,
            Rules::Version => version::fill(&self.store, key, fill, self.schema).await,
            Rules::DoubleDelete { .. } => double_delete::fill(&self.store, key, fill, self.schema).await,
        }
    }

    async fn abandon(&self, key: &[u8], token: Token, _retry_after_ms: u64) -> Result<(), CacheError> {
        match &self.rules {
            Rules::Lease => lease::abandon(&self.store, key, token).await,
            _ => Ok(()),
        }
    }

    async fn invalidate(&self, key: &[u8], invalidation: &Invalidation) -> Result<(), CacheError> {
        match &self.rules {
            Rules::Lease => self.store.delete(key).await,
            Rules::Version => version::invalidate(&self.store, key, invalidation, self.schema).await,
            Rules::DoubleDelete { delay, second } => double_delete::invalidate(&self.store, key, *delay, second).await,
        }
    }

    async fn begin_write(&self, _key: &[u8], _begin: &BeginWrite) -> Result<Begun, CacheError> {
        Err(no_windows())
    }

    async fn renew_write(&self, _key: &[u8], _token: Token, _window_ms: u64) -> Result<Renewed, CacheError> {
        Err(no_windows())
    }

    async fn end_write(&self, _key: &[u8], _token: Token, _with: &Invalidation) -> Result<Ended, CacheError> {
        Err(no_windows())
    }

    // Readers wait for this only under the fenced protocol. Here it stays pending and is replayed a moment later.
    async fn invalidate_on(&self, _epoch: &Epoch, _key: &[u8], _with: &Invalidation) -> Result<(), CacheError> {
        Err(CacheError::Unsupported(
            "the published protocols do not replay invalidations before a new connection is used",
        ))
    }
}

fn no_windows() -> CacheError {
    CacheError::Unsupported("update windows need the fenced protocol; the published protocols have none")
}
