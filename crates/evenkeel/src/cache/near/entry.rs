//! An entry of the near cache. It is small on purpose: with ten thousand entries, memory access dominates the cost of a hit.

use evenkeel_protocol::cache::header::Value;
use std::sync::Arc;

/// Counts the flushes of the near cache.
pub(super) type FlushEpoch = u32;

/// A value, and the data that decides whether it may be served.
pub(super) struct Entry<V> {
    pub(super) row: Option<Arc<V>>,
    version: u64,
    pub(super) loaded_at_ms: u64,
    /// How long after `loaded_at_ms` the value is served; then a refresh is due, or the value ends.
    life_ms: u32,
    pub(super) flush_epoch: FlushEpoch,
    pub(super) weight: u32,
    /// The connection that receives the notification of its next change.
    pub(super) connection: u16,
    /// 1 if there is a version. Not a `bool`: `Option<Entry>` would use an invalid value of the `bool` as its niche, and an
    /// entry would be copied in two parts around it, which causes a store-forwarding stall.
    has_version: u16,
}

impl<V> Entry<V> {
    /// `until_ms` is the time, by the store's clock, from which the store is read again. A time beyond the range of the field
    /// is shortened.
    pub(super) fn new(
        row: Option<Arc<V>>,
        value: &Value,
        until_ms: u64,
        flush_epoch: FlushEpoch,
        connection: u16,
        weight: u32,
    ) -> Self {
        let life_ms = u32::try_from(until_ms.saturating_sub(value.loaded_at_ms)).unwrap_or(u32::MAX);
        let (version, has_version) = (value.version.unwrap_or(0), u16::from(value.version.is_some()));
        Self { row, version, loaded_at_ms: value.loaded_at_ms, life_ms, flush_epoch, weight, connection, has_version }
    }

    #[inline]
    pub(super) fn until_ms(&self) -> u64 {
        self.loaded_at_ms.saturating_add(u64::from(self.life_ms))
    }

    #[inline]
    pub(super) fn version(&self) -> Option<u64> {
        (self.has_version != 0).then_some(self.version)
    }

    /// Whether it was stored before `flush_epoch` began. The counter wraps around, so the shorter distance decides.
    pub(super) fn is_before(&self, flush_epoch: FlushEpoch) -> bool {
        flush_epoch.wrapping_sub(self.flush_epoch).wrapping_sub(1) < FlushEpoch::MAX / 2
    }
}

// Not derived, because a shared value need not be `Clone`.
impl<V> Clone for Entry<V> {
    #[inline]
    fn clone(&self) -> Self {
        Self { row: self.row.clone(), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, FlushEpoch};
    use evenkeel_protocol::cache::header::Value;

    fn entry(loaded_at_ms: u64, until_ms: u64, version: Option<u64>, flush_epoch: FlushEpoch) -> Entry<u64> {
        let (soft_until_ms, hard_until_ms) = (until_ms, until_ms);
        let (absent, stale, codec, compression) = (false, false, 0, 0);
        let value = Value { loaded_at_ms, soft_until_ms, hard_until_ms, version, absent, stale, codec, compression };
        Entry::new(None, &value, until_ms, flush_epoch, 0, 1)
    }

    #[test]
    fn near_entry_has_its_documented_size() {
        assert_eq!(size_of::<Entry<u64>>(), 40);
    }

    #[test]
    fn ttl_above_the_range_is_shortened() {
        assert_eq!(entry(1_000, 1_600, None, 1).until_ms(), 1_600);
        assert_eq!(entry(1_000, u64::MAX, None, 1).until_ms(), 1_000 + u64::from(u32::MAX));
        assert_eq!(entry(1_000, 900, None, 1).until_ms(), 1_000, "not before its load");
    }

    #[test]
    fn version_zero_is_a_version() {
        assert_eq!(
            [None, Some(0), Some(u64::MAX)].map(|version| entry(0, 1, version, 1).version()),
            [None, Some(0), Some(u64::MAX)]
        );
    }

    #[test]
    fn epoch_counter_wraps_around() {
        for (flush_epoch, now, is_before) in [
            (1, 1, false),
            (1, 2, true),
            (2, 1, false),
            (FlushEpoch::MAX, 0, true),
            (0, FlushEpoch::MAX, false),
            (FlushEpoch::MAX - 1, 1, true),
        ] {
            assert_eq!(entry(0, 1, None, flush_epoch).is_before(now), is_before, "{flush_epoch} {now}");
        }
    }
}
