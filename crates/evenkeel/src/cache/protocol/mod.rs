//! The published cache protocols, for teams that use one already or want to compare.
//!
//! [`Protocol::Fenced`] is Evenkeel's own protocol and the default; docs/spec/cache.md specifies it. The other three come from
//! the literature, each as strong as it can be without becoming another protocol:
//!
//! | protocol | idea |
//! |---|---|
//! | [`Protocol::Lease`] | a miss returns a 64-bit token, and a fill requires that the token still exists |
//! | [`Protocol::Version`] | a fill is rejected if its row version is below the stored one; writes update or mark, and never delete |
//! | [`Protocol::DelayedDoubleDelete`] | delete before and after the write, and once more after a delay |
//!
//! Their limits:
//!
//! * `Lease` serves no stale value during a reload and does not refresh ahead. The value of a load that is longer than its lease is
//!   discarded, so a slow key under traffic is never stored. A failover that loses a delete revives its token.
//! * `Version` loses the marker with the key (expiry, eviction, flush), and a slow load may then store an older row.
//! * `DelayedDoubleDelete` does not cover a load that takes longer than the delay, nor, without the feature `queue`, a process that
//!   dies before its second delete.
//!
//! They share the entry format, the single-flight calls and the loader rules of the fenced cache, and implement the same steps
//! ([`CacheSteps`]). They have no update windows.
//!
//! Sources: R. Nishtala and others, "Scaling Memcache at Facebook", NSDI 2013 (leases); Uber Engineering, "How Uber serves over
//! 150 million reads per second from an integrated cache" (versions); the delayed double delete is folklore.

mod double_delete;
mod lease;
#[cfg(feature = "queue")]
mod second_delete;
mod store;
mod version;

use crate::keel::Keel;
use async_trait::async_trait;
use bytes::Bytes;
use evenkeel_link::{Epoch, Token};
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::steps::{
    BeginWrite, Begun, CacheSteps, Ended, Fill, Filled, Invalidation, Lease, Leased, Renewed,
};
use std::time::Duration;

pub(crate) use store::{PlainEntries, PlainStore, scripts};

/// How a cache rejects old values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// Evenkeel's own protocol: generations, grants, minimum versions and windows. The only one under which no stale value
    /// survives.
    #[default]
    Fenced,
    /// Facebook's leases: a miss returns a token, which every delete voids.
    Lease,
    /// Uber's version comparison: loaders must return a row version, and writers invalidate with the new one.
    Version,
    /// Delete, write, delete again after `delay`. The delay must exceed the longest load, which cannot be known. With the
    /// feature `queue` the second delete is a delayed job, which survives the process; without it, a timer.
    DelayedDoubleDelete {
        /// The time from the first delete to the second.
        delay: Duration,
    },
}

/// A published protocol over one store.
#[derive(Clone)]
pub(crate) struct PublishedCache {
    protocol: Protocol,
    store: PlainStore,
    /// Fingerprint of the value's schema.
    schema: u32,
    /// The second deletes of a delayed double delete.
    #[cfg(feature = "queue")]
    second: Option<second_delete::SecondDeletes>,
}

impl PublishedCache {
    /// `None` for [`Protocol::Fenced`], which has steps of its own.
    pub(crate) fn new(protocol: Protocol, store: PlainStore, schema: u32, keel: &Keel, cache: &str) -> Option<Self> {
        #[cfg(feature = "queue")]
        let second = matches!(protocol, Protocol::DelayedDoubleDelete { .. })
            .then(|| second_delete::SecondDeletes::new(keel.clone(), cache, store.clone()));
        #[cfg(not(feature = "queue"))]
        let _ = (keel, cache);
        (protocol != Protocol::Fenced).then_some(Self {
            protocol,
            store,
            schema,
            #[cfg(feature = "queue")]
            second,
        })
    }

    /// Returns after the first delete.
    async fn delete_twice(&self, key: &[u8], delay: Duration) -> Result<(), CacheError> {
        self.store.delete(key).await?;
        #[cfg(feature = "queue")]
        if let Some(second) = &self.second
            && second.ask(key, delay).await
        {
            return Ok(());
        }
        double_delete::delete_later(&self.store, key, delay);
        Ok(())
    }
}

#[async_trait]
impl CacheSteps for PublishedCache {
    async fn read(&self, key: &[u8]) -> Result<Option<Bytes>, CacheError> {
        self.store.get(key).await
    }

    async fn lease(&self, key: &[u8], lease: &Lease) -> Result<Leased, CacheError> {
        #[cfg(feature = "queue")]
        if let Some(second) = &self.second {
            second.watch();
        }
        match self.protocol {
            Protocol::Lease => lease::lease(&self.store, key, lease).await,
            _ => Ok(store::grant_unconditionally(&self.store, lease)),
        }
    }

    async fn fill(&self, key: &[u8], fill: &Fill) -> Result<Filled, CacheError> {
        match self.protocol {
            Protocol::Lease => lease::fill(&self.store, key, fill, self.schema).await,
            Protocol::Version => version::fill(&self.store, key, fill, self.schema).await,
            _ => double_delete::fill(&self.store, key, fill, self.schema).await,
        }
    }

    async fn abandon(&self, key: &[u8], token: Token, _retry_after_ms: u64) -> Result<(), CacheError> {
        match self.protocol {
            Protocol::Lease => lease::abandon(&self.store, key, token).await,
            _ => Ok(()),
        }
    }

    async fn invalidate(&self, key: &[u8], invalidation: &Invalidation) -> Result<(), CacheError> {
        match self.protocol {
            Protocol::Version => version::invalidate(&self.store, key, invalidation, self.schema).await,
            Protocol::DelayedDoubleDelete { delay } => self.delete_twice(key, delay).await,
            _ => self.store.delete(key).await,
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
    CacheError::Unsupported("update windows need Protocol::Fenced; the published protocols have none")
}
