//! What may be said about a near cache: its part of the builder, and what cannot work.

use crate::cache::CacheBuilder;
use crate::cache::protocol::Protocol;
use evenkeel_link::Link;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

/// How long a connection may give no sign of life by default: ten times the link's default heartbeat.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// The least room of a shard, if the whole has as much: an entry has to fit into one.
const SHARD_BYTES_MIN: u64 = 1 << 20;
/// What a value is taken to weigh where only bytes are bounded and the number of entries must be guessed.
const ENTRY_BYTES: u64 = 1024;

/// What the builder was told; `None` is "choose".
#[derive(Clone, Debug, Default)]
pub(crate) struct NearDraft {
    entries_max: Option<usize>,
    bytes_max: Option<u64>,
    age_max: Option<Duration>,
    silence_max: Option<Duration>,
    has_weight: bool,
}

/// What bounds a near cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NearSettings {
    pub(super) entries_max: Option<usize>,
    pub(super) bytes_max: Option<u64>,
    pub(super) age_max: Duration,
    pub(super) silence_max: Duration,
}

impl<K: ?Sized, V, C> CacheBuilder<K, V, C> {
    /// Keeps up to so many decoded values in this process, in front of the store: a near hit asks nobody. Default none.
    ///
    /// **Guarantee.** What is served from it was not yet invalidated as far as Redis had told this process, and Redis tells it at
    /// once (RESP3 tracking); if what it tells does not arrive, for at most [`silence_max`](Self::silence_max). This process sees
    /// its own invalidations at once. [`Freshness::Fresh`](crate::cache::Freshness) reads are never answered by it.
    /// **Not guaranteed.** That two processes see a change at the same moment.
    pub fn near(mut self, entries: usize) -> Self {
        self.near.entries_max = Some(entries);
        self
    }

    /// Like [`near`](Self::near), bounded by bytes. Together with `near` both bounds hold.
    ///
    /// What counts is the key, 160 bytes for the entry, and the value: by default the length of its encoded form before compression, and
    /// at least the size of `V` itself. A value that takes more than that in memory (many small strings, a map, numbers that the codec
    /// writes in fewer bytes) should say so with [`near_weight`](Self::near_weight). A value that others still hold is in memory for
    /// as long as they do. The room is divided into shards of at least 1 MiB; an entry that does not fit into one is not kept.
    pub fn near_bytes(mut self, bytes: usize) -> Self {
        self.near.bytes_max = Some(bytes as u64);
        self
    }

    /// What a value counts against [`near_bytes`](Self::near_bytes): the bytes that it takes in memory, what it points to included.
    /// Called once for each value that is to be kept, in the task of its reader. If it panics the value is not kept.
    pub fn near_weight(mut self, weight: impl Fn(&V) -> usize + Send + Sync + 'static) -> Self {
        self.near.has_weight = true;
        self.weight_of = Some(Arc::new(weight));
        self
    }

    /// How old a value of the near cache may become, counted from before its row was read; an older one is looked up in the store.
    /// Default: as old as in the store.
    pub fn near_age_max(mut self, age: Duration) -> Self {
        self.near.age_max = Some(age);
        self
    }

    /// How long a connection to Redis may give no sign of life before what it told is not relied upon any more: the longest time
    /// for which a near cache can serve what was invalidated elsewhere. Default 10 s; at least twice the link's heartbeat.
    pub fn silence_max(mut self, silence: Duration) -> Self {
        self.near.silence_max = Some(silence);
        self
    }
}

impl NearDraft {
    /// Fills in what the builder was not told, and refuses what cannot work. `None` if there is to be no near cache.
    pub(crate) fn check(
        &self,
        ttl: Duration,
        protocol: Protocol,
        link: Option<&Link>,
    ) -> Result<Option<NearSettings>, String> {
        let Self { entries_max, bytes_max, age_max, silence_max, has_weight } = *self;
        if has_weight && bytes_max.is_none() {
            return Err("near_weight counts against near_bytes, which was not named; name it or leave near_weight out"
                .to_owned());
        }
        if entries_max.is_none() && bytes_max.is_none() {
            return match (age_max, silence_max) {
                (None, None) => Ok(None),
                _ => Err(
                    "near_age_max and silence_max bound a near cache, and there is none; name its size with near(..)"
                        .to_owned(),
                ),
            };
        }
        let settings = NearSettings {
            entries_max,
            bytes_max,
            age_max: age_max.unwrap_or(Duration::MAX),
            silence_max: silence_max.unwrap_or(SILENCE_MAX),
        };
        settings.check_consistency(ttl, protocol)?;
        link.map_or(Ok(()), |link| settings.check_link(link))?;
        Ok(Some(settings))
    }
}

impl NearSettings {
    /// Weight that fits, entries to make room for, and the least that an entry weighs. Where both entries and bytes are bounded,
    /// an entry weighs at least its share of the bytes.
    pub(super) fn capacity(&self) -> (u64, usize, u64) {
        match (self.entries_max, self.bytes_max) {
            (Some(entries), Some(bytes)) => {
                // A share is noted in 32 bits.
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

    /// How many shards the room may be divided into, if it is bounded by bytes.
    pub(super) fn shards_max(&self) -> Option<usize> {
        let shards = 1 << (self.bytes_max? / SHARD_BYTES_MIN).max(1).ilog2().min(16);
        Some(available_parallelism().map_or(4, |cores| cores.get() * 4).min(shards))
    }

    fn check_consistency(&self, ttl: Duration, protocol: Protocol) -> Result<(), String> {
        if self.entries_max == Some(0) || self.bytes_max == Some(0) {
            return Err("a near cache without room would keep nothing; name its size or leave it out".to_owned());
        }
        if self.age_max < Duration::from_millis(1) {
            return Err(format!(
                "a near_age_max of {:?} is shorter than one millisecond; check its unit",
                self.age_max
            ));
        }
        if self.age_max != Duration::MAX && self.age_max > ttl {
            return Err(format!(
                "the near_age_max of {:?} is longer than the ttl of {ttl:?}; nothing becomes that old",
                self.age_max
            ));
        }
        if protocol != Protocol::Fenced {
            return Err(format!(
                "a near cache needs Protocol::Fenced; under {protocol:?} nobody tells it what was invalidated"
            ));
        }
        Ok(())
    }

    fn check_link(&self, link: &Link) -> Result<(), String> {
        let heartbeat = link.heartbeat();
        if self.silence_max < heartbeat * 2 {
            return Err(format!(
                "the silence_max of {:?} is shorter than two heartbeats of the link, {:?}; a connection that is well would pass for \
                 silent",
                self.silence_max,
                heartbeat * 2
            ));
        }
        if link.epoch().is_some_and(|epoch| !epoch.tracks()) {
            return Err("a near cache needs CLIENT TRACKING, which this Redis refuses this user, or the link was told to leave off; \
                        allow the user +client|tracking and +client|caching"
                .to_owned());
        }
        Ok(())
    }
}
