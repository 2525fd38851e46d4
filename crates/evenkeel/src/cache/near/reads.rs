//! How reads meet the near cache: looked at first, and filled by what the store then says.

use super::{Filling, Hit, Place, Sought};
use crate::cache::core::Core;
use crate::cache::reading::demand::Want;
use bytes::Bytes;
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::header::{Header, Verdict};
use evenkeel_protocol::cache::steps::TrackedRead;
use std::sync::Arc;

/// What a read of the store brought, and where in the near cache it may go.
pub(crate) struct Reading<'a, V> {
    pub(crate) answer: Result<Option<Bytes>, CacheError>,
    pub(crate) spot: Option<Spot<'a, V>>,
}

/// A place in the near cache, for an answer whose next change will be told.
pub(crate) struct Spot<'a, V> {
    place: Place<'a, V>,
    tracked_on: usize,
}

impl<V: 'static> Core<V> {
    #[inline]
    pub(crate) fn has_near(&self) -> bool {
        self.tracker.near.is_some()
    }

    /// What `take` makes of what the near cache has that will do for this read. Asks nobody.
    #[inline]
    pub(crate) fn near_hit<R>(&self, key: impl Sought, want: Want, take: impl FnOnce(Hit<V>) -> R) -> Option<R> {
        let near = self.tracker.near.as_ref()?;
        if self.bypasses_reads() { None } else { near.get(key, || self.store.soon(), want, take) }
    }

    /// The same, counted only if it hits.
    pub(crate) fn peek_near(&self, key: impl Sought, want: Want) -> Option<Hit<V>> {
        let near = self.tracker.near.as_ref()?;
        if self.bypasses_reads() { None } else { near.peek(key, || self.store.soon(), want) }
    }

    /// Reads the entry of `key`. The next change of it is told if the near cache has a place for it.
    pub(crate) async fn read_entry<'a>(&'a self, key: &'a [u8]) -> Reading<'a, V> {
        match self.reserve(key) {
            None => Reading { answer: self.store.read(key).await, spot: None },
            // Boxed, so that a cache without a near cache does not carry the room that this needs.
            Some(place) => Reading::new(Box::pin(self.store.read_tracked(key)).await, Some(place)),
        }
    }

    /// The same for each of `keys`, in one write.
    pub(crate) async fn read_entries<'a>(&'a self, keys: &[&'a [u8]]) -> Vec<Reading<'a, V>> {
        if keys.is_empty() {
            return Vec::new();
        }
        let places: Vec<_> = keys.iter().map(|key| self.reserve(key)).collect();
        if places.iter().all(Option::is_none) {
            let answers = self.store.read_many(keys).await;
            return answers.into_iter().map(|answer| Reading { answer, spot: None }).collect();
        }
        let told = Box::pin(self.store.read_many_tracked(keys)).await;
        told.into_iter().zip(places).map(|(told, place)| Reading::new(told, place)).collect()
    }

    fn reserve<'a>(&'a self, key: &'a [u8]) -> Option<Place<'a, V>> {
        self.tracker.near.as_ref()?.reserve(key)
    }
}

impl<'a, V> Reading<'a, V> {
    fn new(told: TrackedRead, place: Option<Place<'a, V>>) -> Self {
        let spot = place.zip(told.tracked_on).map(|(place, tracked_on)| Spot { place, tracked_on });
        Self { answer: told.answer, spot }
    }
}

impl<V> Spot<'_, V> {
    /// Puts a value in that is good for everybody and not due for refresh yet. What is due goes by way of the store, which
    /// decides who refreshes it; what is stale has no business here.
    pub(crate) fn fill(self, row: Option<&Arc<V>>, header: &Header, weight: usize, now_ms: u64) {
        let Some(value) = &header.value else { return };
        if header.verdict(now_ms) == Verdict::Hit {
            let filling = Filling { value, ends_at_ms: header.ends_at_ms, weight, tracked_on: self.tracked_on, now_ms };
            self.place.fill(row.cloned(), &filling);
        }
    }
}
