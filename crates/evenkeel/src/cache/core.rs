//! What all handles of one cache share.

use super::metrics::CacheMetrics;
use super::settings::Settings;
use super::store::Store;
use crate::cache::loading::admission::Admission;
use crate::cache::loading::flight::SingleFlight;
use crate::cache::loading::payload::Payloads;
use crate::cache::near::tracker::Tracker;
use crate::cache::reading::demand::ReadPolicy;
use crate::cache::reading::waiters::Waiters;
use crate::cache::settings::freshness::Freshness;
use crate::cache::settings::log_limit::LogLimit;
use crate::cache::settings::switches::Switches;
use crate::cache::writing::replay::Replayer;
use evenkeel_link::clock::Clock;
use evenkeel_protocol::cache::error::CacheError;
use std::sync::Arc;

/// Finds a row's version in its value.
pub(crate) type VersionOf<V> = Arc<dyn Fn(&V) -> u64 + Send + Sync>;

/// Says what a value costs in memory.
pub(crate) type WeightOf<V> = Arc<dyn Fn(&V) -> usize + Send + Sync>;

/// One cache of one process.
pub(crate) struct Core<V> {
    pub(super) name: Arc<str>,
    pub(super) settings: Settings,
    /// Fingerprint of the stored form of `V`.
    pub(super) schema: u32,
    pub(super) version: Option<VersionOf<V>>,
    /// What a value counts against `near_bytes`, if the user said it.
    pub(super) weight_of: Option<WeightOf<V>>,
    /// Whether the protocol is [`Fenced`](super::Protocol::Fenced), the only one with update windows.
    pub(super) is_fenced: bool,
    pub(super) store: Store,
    /// Hears what changes in the store; it holds the near cache, and knows those who wait.
    pub(super) tracker: Arc<Tracker<V>>,
    pub(super) clock: Clock,
    pub(super) payloads: Payloads<V>,
    pub(super) calls: Arc<SingleFlight<V>>,
    pub(super) admission: Admission,
    pub(super) waiters: Arc<Waiters>,
    pub(super) switches: Switches,
    pub(super) replayer: Arc<Replayer>,
    pub(super) unreadable_log: LogLimit,
    pub(super) unstorable_log: LogLimit,
    pub(super) other_schema_log: LogLimit,
    pub(super) metrics: Arc<CacheMetrics>,
}

impl<V> Core<V> {
    /// The demand of one read, if this cache can meet it.
    pub(super) fn policy(&self, freshness: Freshness) -> Result<ReadPolicy, CacheError> {
        ReadPolicy::new(freshness).check(self.version.is_some(), self.is_fenced)
    }
}

/// The stored form of a value: which codec wrote it, and the number its user gave it. FNV-1a, which never changes.
pub(crate) fn schema_fingerprint(codec: u8, schema: u32) -> u32 {
    let [a, b, c, d] = schema.to_be_bytes();
    [codec, a, b, c, d].iter().fold(0x811C_9DC5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}
