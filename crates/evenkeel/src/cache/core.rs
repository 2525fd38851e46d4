//! State shared by all handles of one cache.

use super::metrics::CacheMetrics;
use super::settings::Settings;
use super::store::Store;
use crate::cache::loading::admission::Admission;
use crate::cache::loading::payload::Payloads;
use crate::cache::loading::single_flight::SingleFlight;
use crate::cache::near::Near;
use crate::cache::near::tracker::Tracker;
use crate::cache::reading::demand::ReadPolicy;
use crate::cache::reading::waiters::Waiters;
use crate::cache::settings::freshness::Freshness;
use crate::cache::settings::log_limit::LogLimit;
use crate::cache::writing::replay::Replayer;
use crate::process::draft::{Draft, Reported};
use crate::process::reporter::Reporter;
use evenkeel_link::clock::Clock;
use evenkeel_protocol::cache::error::CacheError;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Returns a row's version, read from its value.
pub(crate) type VersionOf<V> = Arc<dyn Fn(&V) -> u64 + Send + Sync>;

/// Returns the size of a value in memory.
pub(crate) type WeightOf<V> = Arc<dyn Fn(&V) -> usize + Send + Sync>;

/// One cache of one process.
pub(crate) struct Core<V> {
    pub(super) name: Arc<str>,
    pub(super) settings: Settings,
    /// Fingerprint of the stored form of `V`.
    pub(super) schema: u32,
    pub(super) version: Option<VersionOf<V>>,
    /// The user's function for the size of a value against `near_bytes`.
    pub(super) weight_of: Option<WeightOf<V>>,
    /// Whether the protocol is the fenced one, the only one with update windows.
    pub(super) is_fenced: bool,
    pub(super) store: Store,
    /// Receives change notifications of the store; holds the near cache and the readers that wait for a change.
    pub(super) tracker: Arc<Tracker<V>>,
    pub(super) clock: Clock,
    pub(super) payloads: Payloads<V>,
    pub(super) calls: Arc<SingleFlight<V>>,
    pub(super) admission: Admission,
    pub(super) waiters: Arc<Waiters>,
    /// Set by an operator at run time: whether reads bypass the store.
    pub(super) bypass_reads: AtomicBool,
    /// Set by an operator at run time: whether loaded values are not stored.
    pub(super) bypass_fills: AtomicBool,
    pub(super) replayer: Arc<Replayer>,
    pub(super) unreadable_log: LogLimit,
    pub(super) unstorable_log: LogLimit,
    pub(super) other_schema_log: LogLimit,
    pub(super) other_keys_log: LogLimit,
    pub(super) metrics: Arc<CacheMetrics>,
    /// The process reports as long as its caches are open, also without their keel.
    pub(super) _reporter: Arc<Reporter>,
}

impl<V: Send + Sync + 'static> Reported for Core<V> {
    fn add_to(&self, draft: &mut Draft) {
        let near_hits = self.tracker.near.as_ref().map_or(0, Near::hits);
        draft.add(|report| &mut report.caches, || self.metrics.report(&self.name, near_hits));
    }
}

impl<V> Core<V> {
    /// The read policy of one read, if this cache supports it.
    pub(super) fn policy(&self, freshness: Freshness) -> Result<ReadPolicy, CacheError> {
        ReadPolicy::new(freshness).check(self.version.is_some(), self.is_fenced)
    }
}

/// The fingerprint of a value's stored form: its codec and the schema number that the user set. FNV-1a, whose result never
/// changes.
pub(crate) fn schema_fingerprint(codec: u8, schema: u32) -> u32 {
    let [a, b, c, d] = schema.to_be_bytes();
    [codec, a, b, c, d].iter().fold(0x811C_9DC5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}
