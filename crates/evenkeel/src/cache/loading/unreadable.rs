//! Values that the codec cannot decode or encode: logged at a limited rate, and replaced if no other program can read them.

use super::payload::Unreadable;
use super::plan::{Bypass, Plan};
use super::user_code::catch_panic;
use crate::cache::core::Core;
use crate::cache::reading::demand::ReadPolicy;
use crate::cache::reading::look::Look;
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::header::Value;
use evenkeel_protocol::cache::steps::Why;
use evenkeel_protocol::codec::error::CodecError;

/// A younger entry is left alone: two programs that cannot decode each other's values would otherwise replace them at every
/// read.
const AGE_MS_MIN: u64 = 1_000;

impl<V: 'static> Core<V> {
    /// How to load a key whose entry cannot be decoded. A value of this codec and schema is loaded again, by one reader of all
    /// processes, and replaced. A value that another program may be able to decode is kept.
    pub(crate) fn handle_unreadable(
        &self,
        key: &[u8],
        value: &Value,
        unreadable: &Unreadable,
        now_ms: u64,
        policy: ReadPolicy,
    ) -> Look<V> {
        self.log_unreadable(key, unreadable);
        let age_ms = now_ms.saturating_sub(value.loaded_at_ms);
        let is_replaced = unreadable.is_own && age_ms >= AGE_MS_MIN && guard("undecodable_replaced");
        // A value that was stored meanwhile is much younger; half the age allows for the error in the estimate of the store's
        // time.
        let younger = Why::Older(age_ms / 2);
        match policy.why(Why::Miss) {
            Why::Miss if is_replaced => self.miss(younger, None),
            Why::Older(age_ms_max) if is_replaced => self.miss(Why::Older(age_ms_max.min(age_ms / 2)), None),
            _ => Look::Load(Plan::Bypass(Bypass::Undecodable), None),
        }
    }

    /// Counts an undecodable entry, and logs it if no other was logged recently.
    pub(crate) fn log_unreadable(&self, key: &[u8], unreadable: &Unreadable) {
        self.metrics.undecodable.increment(1);
        if let Some(reads) = self.unreadable_log.line_due(self.clock.now()) {
            tracing::warn!(
                cache = %self.name,
                key = %String::from_utf8_lossy(key),
                reads,
                error = %unreadable.error,
                "reads found entries that cannot be decoded; give the cache another schema number if its type changed"
            );
        }
    }

    /// Logs a loaded value that cannot be encoded, if no other was logged recently.
    pub(crate) fn log_unstorable(&self, key: &[u8], error: &CodecError) {
        if let Some(values) = self.unstorable_log.line_due(self.clock.now()) {
            tracing::warn!(
                cache = %self.name,
                key = %String::from_utf8_lossy(key),
                values,
                %error,
                "loaded values cannot be encoded and are not cached; each read of them is a load"
            );
        }
    }

    /// Logs that another program stores values of another form here, if that was not logged recently.
    pub(crate) fn log_other_schema(&self, key: &[u8]) {
        if let Some(reads) = self.other_schema_log.line_due(self.clock.now()) {
            tracing::warn!(
                cache = %self.name,
                key = %String::from_utf8_lossy(key),
                reads,
                "reads found entries of another codec or schema number, and load without storing; another version of this program \
                 is running, or another program uses this cache name"
            );
        }
    }

    /// The weight of a value against `near_bytes`; `None` if the user's function panicked, so that the value is not kept.
    pub(crate) fn near_weight(&self, row: Option<&V>, decoded_bytes: usize) -> Option<usize> {
        let by_default = if guard("near_weighs_decoded") { decoded_bytes.max(size_of::<V>()) } else { 0 };
        let (Some(weight_of), Some(row)) = (&self.weight_of, row) else { return Some(by_default) };
        match catch_panic(guard("near_weight_caught"), || weight_of(row)) {
            Ok(weight) => Some(weight),
            Err(reason) => {
                tracing::debug!(cache = %self.name, reason, "near_weight panicked; the value is not kept in the near cache");
                None
            }
        }
    }
}
