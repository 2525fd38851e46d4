//! Reads through the near cache: they look there first, and fill it with the reply of the store.

use super::{Filling, Hit, Lookup, Reservation};
use crate::cache::core::Core;
use crate::cache::reading::demand::ReadPolicy;
use bytes::Bytes;
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::header::{Header, Verdict};
use evenkeel_protocol::cache::steps::TrackedRead;
use std::sync::Arc;

/// The reply to a read of the store, and the reservation for it in the near cache.
pub(crate) struct EntryRead<'a, V> {
    pub(crate) answer: Result<Option<Bytes>, CacheError>,
    pub(crate) tracked: Option<TrackedReservation<'a, V>>,
}

/// A reservation for a reply whose next change will be notified.
pub(crate) struct TrackedReservation<'a, V> {
    reservation: Reservation<'a, V>,
    tracked_on: usize,
}

impl<V: 'static> Core<V> {
    #[inline]
    pub(crate) fn has_near(&self) -> bool {
        self.tracker.near.is_some()
    }

    /// Returns `take` of the near cache's value, if it satisfies this read. Sends no command.
    #[inline]
    pub(crate) fn near_hit<R>(
        &self,
        key: impl Lookup,
        policy: ReadPolicy,
        take: impl FnOnce(Hit<V>) -> R,
    ) -> Option<R> {
        let near = self.tracker.near.as_ref()?;
        if self.bypasses_reads() { None } else { near.get(key, || self.store.soon(), policy, take) }
    }

    /// Like `near_hit`, but counts only a hit.
    pub(crate) fn peek_near(&self, key: impl Lookup, policy: ReadPolicy) -> Option<Hit<V>> {
        let near = self.tracker.near.as_ref()?;
        if self.bypasses_reads() { None } else { near.peek(key, || self.store.soon(), policy) }
    }

    /// Reads the entry of `key`, and tracks its next change if the near cache has a reservation for it.
    pub(crate) async fn read_entry<'a>(&'a self, key: &'a [u8]) -> EntryRead<'a, V> {
        match self.reserve(key) {
            None => EntryRead { answer: self.store.read(key).await, tracked: None },
            // Boxed, so that a cache without a near cache does not carry this state.
            Some(reservation) => EntryRead::new(Box::pin(self.store.read_tracked(key)).await, Some(reservation)),
        }
    }

    /// Like `read_entry` for each of `keys`, in one write.
    pub(crate) async fn read_entries<'a>(&'a self, keys: &[&'a [u8]]) -> Vec<EntryRead<'a, V>> {
        if keys.is_empty() {
            return Vec::new();
        }
        let reservations: Vec<_> = keys.iter().map(|key| self.reserve(key)).collect();
        if reservations.iter().all(Option::is_none) {
            let answers = self.store.read_many(keys).await;
            return answers.into_iter().map(|answer| EntryRead { answer, tracked: None }).collect();
        }
        let read = Box::pin(self.store.read_many_tracked(keys)).await;
        read.into_iter().zip(reservations).map(|(read, reservation)| EntryRead::new(read, reservation)).collect()
    }

    fn reserve<'a>(&'a self, key: &'a [u8]) -> Option<Reservation<'a, V>> {
        self.tracker.near.as_ref()?.reserve(key)
    }
}

impl<'a, V> EntryRead<'a, V> {
    fn new(read: TrackedRead, reservation: Option<Reservation<'a, V>>) -> Self {
        let tracked = reservation
            .zip(read.tracked_on)
            .map(|(reservation, tracked_on)| TrackedReservation { reservation, tracked_on });
        Self { answer: read.answer, tracked }
    }
}

impl<V> TrackedReservation<'_, V> {
    /// Stores a value that all readers may use and that is not due for refresh. For a due value the store decides which reader
    /// refreshes it, and a stale value does not belong here.
    pub(crate) fn fill(self, row: Option<&Arc<V>>, header: &Header, weight: usize, now_ms: u64) {
        let Some(value) = &header.value else { return };
        if header.verdict(now_ms) == Verdict::Hit {
            let filling = Filling { value, ends_at_ms: header.ends_at_ms, weight, tracked_on: self.tracked_on, now_ms };
            self.reservation.fill(row.cloned(), &filling);
        }
    }
}
