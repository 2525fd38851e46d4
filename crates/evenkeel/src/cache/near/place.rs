//! A reservation in the near cache: made before a read is sent and filled with its reply, unless a notification about the key
//! arrived in between.

use super::{DefaultHashBuilder, Entry, Evictions, FlushEpoch, Near, OVERHEAD_BYTES, Slot, SlotRef, Weight, count};
use evenkeel_link::support::{guard, ms};
use evenkeel_protocol::cache::header::Value;
use quick_cache::sync::{GuardResult, PlaceholderGuard};
use std::sync::Arc;
use std::time::Duration;

/// The reservation of one key; released when dropped.
pub(crate) struct Reservation<'a, V> {
    near: &'a Near<V>,
    key: &'a [u8],
    flush_epoch: FlushEpoch,
    guard: PlaceholderGuard<'a, Slot, Entry<V>, Weight, DefaultHashBuilder, Evictions>,
}

/// The result of a read, as far as a reservation needs it.
pub(crate) struct Filling<'a> {
    /// The value's part of the header.
    pub(crate) value: &'a Value,
    pub(crate) ends_at_ms: u64,
    /// The weight of the decoded value against `near_bytes`.
    pub(crate) weight: usize,
    /// The connection that receives the notification of the next change.
    pub(crate) tracked_on: usize,
    pub(crate) now_ms: u64,
}

impl<V> Near<V> {
    /// Reserves `key` for a read that is about to be sent. `None` if another read has reserved it, or if there is an entry that
    /// does not satisfy this read: such a read stores nothing here. It does not wait for the other read: if that one never got
    /// a reply, all readers would wait one after another.
    pub(crate) fn reserve<'a>(&'a self, key: &'a [u8]) -> Option<Reservation<'a, V>> {
        let flush_epoch = self.flush_epoch();
        match self.entries.get_value_or_guard(&Slot::from(SlotRef::from(key)), Some(Duration::ZERO)) {
            GuardResult::Guard(guard) => Some(Reservation { near: self, key, flush_epoch, guard }),
            GuardResult::Value(_) | GuardResult::Timeout => None,
        }
    }
}

impl<V> Reservation<'_, V> {
    /// Stores the value, or drops it if the reservation was removed.
    pub(crate) fn fill(self, row: Option<Arc<V>>, filling: &Filling<'_>) {
        let Self { near, key, flush_epoch, guard: placeholder } = self;
        let value = filling.value;
        let until_ms = value
            .soft_until_ms
            .min(value.hard_until_ms)
            .min(filling.ends_at_ms)
            .min(value.loaded_at_ms.saturating_add(ms(near.settings.age_max)));
        if near.flush_epoch() != flush_epoch {
            return near.metrics.raced.increment(1);
        }
        if until_ms <= filling.now_ms {
            return;
        }
        // No connection has such a number; if one had, its values would not be stored.
        let Ok(connection) = u16::try_from(filling.tracked_on) else { return };
        let entry = Entry::new(row, value, until_ms, flush_epoch, connection, near.weigh(key, filling.weight));
        match placeholder.insert(entry) {
            Ok(()) => near.metrics.size.set(count(near.entries.len())),
            Err(entry) if !guard("near_placeholder") => near.entries.insert(SlotRef::from(key).into(), entry),
            Err(_) => near.metrics.raced.increment(1),
        }
    }
}

impl<V> Near<V> {
    fn weigh(&self, key: &[u8], weight: usize) -> u32 {
        if self.settings.bytes_max.is_none() {
            return 1;
        }
        let own = (key.len() as u64).saturating_add(weight as u64).saturating_add(OVERHEAD_BYTES);
        u32::try_from(own.max(self.weight_min)).unwrap_or(u32::MAX)
    }
}
