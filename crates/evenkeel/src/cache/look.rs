//! What a reader makes of what it finds under its key: one plain read, and the entry's header decides.

use super::core::Core;
use super::found::{Found, Stale, Tier};
use super::header::{Entry, HeaderError, Verdict};
use super::load::{Alone, Plan};
use super::steps::Why;
use crate::guard::guard;
use bytes::Bytes;
use std::time::Duration;

/// What to do now.
pub(crate) enum Look<V> {
    /// Serve this.
    Serve(Found<V>),
    /// Serve this, and let somebody load in the background.
    ServeAndLoad(Found<V>, Why),
    /// There is nothing to serve.
    Load(Plan),
}

impl<V: 'static> Core<V> {
    /// Looks once. A hit costs this one command.
    pub(super) async fn look(&self, key: &[u8]) -> Look<V> {
        // An invalidation that is known to have failed: what the store has of this key must not be believed.
        if self.redrive.ledger.owes(key) && guard("owed_is_not_read") {
            return Look::Load(Plan::Alone(Alone::InvalidationOwed));
        }
        match self.store.read(key).await {
            Ok(Some(bytes)) => self.judge(bytes),
            Ok(None) => self.miss(Why::Miss),
            Err(error) => {
                tracing::debug!(cache = %self.name, %error, "read failed; asking the loader");
                Look::Load(Plan::Alone(Alone::StoreAway))
            }
        }
    }

    /// An entry that the store says may be served, whatever this process thinks of the time.
    pub(super) fn landed(&self, bytes: Bytes) -> Option<Found<V>> {
        let Entry { header, payload } = Entry::parse(bytes).ok()?;
        let value = header.value?;
        let unpacked = self.payloads.unpack(&value, payload).ok()?;
        Some(self.found(unpacked, value.loaded_at_ms, value.stale))
    }

    fn judge(&self, bytes: Bytes) -> Look<V> {
        let Entry { header, payload } = match Entry::parse(bytes) {
            Ok(entry) => entry,
            // A lease overwrites it.
            Err(HeaderError::Corrupt) => return self.miss(Why::Miss),
            Err(HeaderError::NewerFormat) => return Look::Load(Plan::Alone(Alone::OtherSchema)),
        };
        let verdict = header.verdict(self.store.now_ms());
        let value = match &header.value {
            // The lease is the judge of foreign schemas: it may take the entry over.
            Some(value) if verdict != Verdict::Miss && header.schema == self.schema => value,
            _ => return self.miss(Why::Miss),
        };
        let unpacked = match self.payloads.unpack(value, payload) {
            Ok(unpacked) => unpacked,
            Err(error) => {
                tracing::warn!(cache = %self.name, %error, "an entry cannot be read; give the cache another schema number if its type changed");
                return Look::Load(Plan::Alone(Alone::Undecodable));
            }
        };
        let found = self.found(unpacked, value.loaded_at_ms, value.stale);
        match verdict {
            Verdict::Due => {
                self.metrics.hits.increment(1);
                Look::ServeAndLoad(found, Why::Refresh)
            }
            Verdict::Stale => {
                self.metrics.stale_hits.increment(1);
                Look::ServeAndLoad(found, Why::Stale)
            }
            Verdict::Hit | Verdict::Miss => {
                self.metrics.hits.increment(1);
                Look::Serve(found)
            }
        }
    }

    fn miss(&self, why: Why) -> Look<V> {
        self.metrics.misses.increment(1);
        Look::Load(Plan::Fill(why))
    }

    fn found(&self, value: Option<std::sync::Arc<V>>, loaded_at_ms: u64, stale: bool) -> Found<V> {
        Found {
            value,
            tier: Tier::Store,
            age: Duration::from_millis(self.store.now_ms().saturating_sub(loaded_at_ms)),
            stale: stale.then_some(Stale::Invalidated),
        }
    }
}
