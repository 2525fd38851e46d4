//! The settings of a near cache: its part of the builder, and the checks that reject invalid combinations.

use crate::cache::CacheBuilder;
use evenkeel_link::Link;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

/// The default for how long a connection may be silent: ten times the link's default heartbeat.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// The smallest size of a shard, if the whole cache is at least as large: an entry has to fit into one shard.
const SHARD_BYTES_MIN: u64 = 1 << 20;
/// The assumed weight of an entry if only bytes are bounded and the number of entries must be estimated.
const ENTRY_BYTES: u64 = 1024;

/// The values set on the builder; `None` selects the default.
#[derive(Clone, Debug, Default)]
pub(crate) struct NearDraft {
    entries_max: Option<usize>,
    bytes_max: Option<u64>,
    age_max: Option<Duration>,
    silence_max: Option<Duration>,
    has_weight: bool,
}

/// The bounds of a near cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NearSettings {
    pub(super) entries_max: Option<usize>,
    pub(super) bytes_max: Option<u64>,
    pub(super) age_max: Duration,
    pub(super) silence_max: Duration,
}

/// # Near cache
///
/// Decoded values in this process, in front of the store.
impl<K: ?Sized, V, C> CacheBuilder<K, V, C> {
    setters! {
        /// Keeps up to this many decoded values in this process, in front of the store: a near hit sends no command. Default none.
        ///
        /// **Guarantee.** A served value has not been invalidated as far as Redis has notified this process. Redis sends these
        /// notifications at once (RESP3 tracking); if they do not arrive, a value is served for at most
        /// [`silence_max`](Self::silence_max). This process sees its own invalidations at once.
        /// [`Freshness::Fresh`](crate::cache::Freshness) reads never use the near cache.
        /// **Not guaranteed.** That two processes see a change at the same moment.
        pub fn near(entries: usize) => near.entries_max = Some(entries);

        /// Like [`near`](Self::near), bounded by bytes. If both are set, both bounds apply.
        ///
        /// An entry counts with its key, 160 bytes, and its value: by default the length of the encoded form before compression,
        /// and at least the size of `V` itself. Set [`near_weight`](Self::near_weight) for a value that takes more memory than that
        /// (many small strings, a map, numbers that the codec writes in fewer bytes). A value that callers still hold stays in
        /// memory as long as they hold it. The space is divided into shards of at least 1 MiB; an entry that does not fit into a
        /// shard is not kept.
        pub fn near_bytes(bytes: usize) => near.bytes_max = Some(bytes as u64);
    }

    /// The weight of a value against [`near_bytes`](Self::near_bytes): the bytes that it takes in memory, including those it
    /// points to. Called once for each value that is to be kept, in the task of its reader. If it panics, the value is not
    /// kept.
    pub fn near_weight(mut self, weight: impl Fn(&V) -> usize + Send + Sync + 'static) -> Self {
        self.near.has_weight = true;
        self.weight_of = Some(Arc::new(weight));
        self
    }

    setters! {
        /// The maximum age of a value in the near cache, counted from before its row was read; an older one is read from the store.
        /// Default: the same as in the store.
        pub fn near_age_max(age: Duration) => near.age_max = Some(age);

        /// How long a connection to Redis may be silent before its notifications are considered unreliable: the longest time for
        /// which a near cache can serve a value that another process has invalidated. Default 10 s; at least twice the link's
        /// heartbeat.
        pub fn silence_max(silence: Duration) => near.silence_max = Some(silence);
    }
}

impl NearDraft {
    /// Fills in defaults and rejects settings that cannot work. `None` if there is no near cache.
    pub(crate) fn check(
        &self,
        ttl: Duration,
        is_fenced: bool,
        link: Option<&Link>,
    ) -> Result<Option<NearSettings>, String> {
        let Self { entries_max, bytes_max, age_max, silence_max, has_weight } = *self;
        if has_weight && bytes_max.is_none() {
            return Err(
                "near_weight counts against near_bytes, which is not set; set near_bytes or remove near_weight"
                    .to_owned(),
            );
        }
        if entries_max.is_none() && bytes_max.is_none() {
            return match (age_max, silence_max) {
                (None, None) => Ok(None),
                _ => Err("near_age_max and silence_max need a near cache; set its size with near(..)".to_owned()),
            };
        }
        let settings = NearSettings {
            entries_max,
            bytes_max,
            age_max: age_max.unwrap_or(Duration::MAX),
            silence_max: silence_max.unwrap_or(SILENCE_MAX),
        };
        settings.check_consistency(ttl, is_fenced)?;
        link.map_or(Ok(()), |link| settings.check_link(link))?;
        Ok(Some(settings))
    }
}

impl NearSettings {
    /// The total weight, the number of entries to allocate for, and the minimum weight of an entry. If both entries and bytes
    /// are bounded, an entry weighs at least its share of the bytes.
    pub(super) fn capacity(&self) -> (u64, usize, u64) {
        match (self.entries_max, self.bytes_max) {
            (Some(entries), Some(bytes)) => {
                // A weight has 32 bits.
                let bytes = bytes.min((entries as u64).saturating_mul(u64::from(u32::MAX)));
                (bytes, entries, (bytes / entries.max(1) as u64).max(1))
            }
            (Some(entries), None) => (entries as u64, entries, 1),
            (None, bytes) => {
                let bytes = bytes.unwrap_or(0);
                (bytes, usize::try_from(bytes / ENTRY_BYTES).unwrap_or(usize::MAX), 1)
            }
        }
    }

    /// The maximum number of shards, if the cache is bounded by bytes.
    pub(super) fn shards_max(&self) -> Option<usize> {
        let shards = 1 << (self.bytes_max? / SHARD_BYTES_MIN).max(1).ilog2().min(16);
        Some(available_parallelism().map_or(4, |cores| cores.get() * 4).min(shards))
    }

    fn check_consistency(&self, ttl: Duration, is_fenced: bool) -> Result<(), String> {
        if self.entries_max == Some(0) || self.bytes_max == Some(0) {
            return Err("a near cache of size 0 would store nothing; set its size or remove it".to_owned());
        }
        if self.age_max < Duration::from_millis(1) {
            return Err(format!(
                "a near_age_max of {:?} is shorter than one millisecond; check its unit",
                self.age_max
            ));
        }
        if self.age_max != Duration::MAX && self.age_max > ttl {
            return Err(format!(
                "the near_age_max of {:?} is longer than the ttl of {ttl:?}; choose at most the ttl",
                self.age_max
            ));
        }
        if !is_fenced {
            return Err(
                "a near cache needs the fenced protocol; other protocols send no notifications of invalidations"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn check_link(&self, link: &Link) -> Result<(), String> {
        let heartbeat = link.heartbeat();
        if self.silence_max < heartbeat * 2 {
            return Err(format!(
                "the silence_max of {:?} is shorter than two heartbeats of the link, {:?}; a healthy connection would count as \
                 silent",
                self.silence_max,
                heartbeat * 2
            ));
        }
        if link.epoch().is_some_and(|epoch| !epoch.tracks()) {
            return Err("a near cache needs CLIENT TRACKING, which this Redis denies this user, or which the link has disabled; \
                        allow the user +client|tracking and +client|caching"
                .to_owned());
        }
        Ok(())
    }
}
