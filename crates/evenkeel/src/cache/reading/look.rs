//! The lookup of a key: one plain read, whose header decides how the read continues.

use super::demand::{Decision, ReadPolicy};
use super::found::{Found, Stale, Tier};
use crate::cache::core::Core;
use crate::cache::key::KeyBytes;
use crate::cache::loading::payload::Unpacked;
use crate::cache::loading::plan::{Bypass, Plan};
use crate::cache::near::{EntryRead, Hit, SlotRef};
use bytes::Bytes;
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::header::{Entry, HeaderError, Value, Verdict};
use evenkeel_protocol::cache::steps::Why;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How the read continues.
pub(crate) enum Look<V> {
    /// Serve this value.
    Serve(Found<V>),
    /// Serve this value and load in the background.
    ServeAndLoad(Found<V>, Why),
    /// Load. The older value may be served if loading fails.
    Load(Plan, Option<Found<V>>),
}

impl<V: 'static> Core<V> {
    /// Reads the store once. A hit costs only this command.
    pub(crate) async fn look(&self, key: &[u8], policy: ReadPolicy) -> Look<V> {
        if let Some(plan) = self.bypass_plan(key) {
            return Look::Load(plan, None);
        }
        self.decide(key, self.read_entry(key).await, policy)
    }

    /// Reads several keys in one write.
    pub(crate) async fn look_at_many(&self, keys: &[KeyBytes], policy: ReadPolicy) -> Vec<Look<V>> {
        let mut looks = Vec::with_capacity(keys.len());
        for keys in keys.chunks(self.store.together_max()) {
            if self.bypasses_reads() {
                looks.extend(keys.iter().map(|_| Look::Load(Plan::Bypass(Bypass::ReadsBypassed), None)));
                continue;
            }
            let near: Vec<_> = keys.iter().map(|key| self.near_hit(SlotRef::of(key), policy, Hit::found)).collect();
            let missing = keys.iter().zip(&near).filter(|(_, near)| near.is_none());
            let missing: Vec<&[u8]> = missing.map(|(key, _)| key.as_slice()).collect();
            let mut entry_reads = self.read_entries(&missing).await.into_iter();
            looks.extend(keys.iter().zip(near).map(|(key, near)| {
                if let Some(found) = near {
                    return Look::Serve(found);
                }
                match (entry_reads.next(), self.bypass_plan(key.as_slice())) {
                    (Some(entry_read), None) => self.decide(key.as_slice(), entry_read, policy),
                    (_, plan) => Look::Load(plan.unwrap_or(Plan::Bypass(Bypass::StoreUnavailable)), None),
                }
            }));
        }
        looks
    }

    /// The plan of a key that must not be read from the store: reads are bypassed, or an invalidation of the key has failed, so
    /// the stored value may be outdated.
    fn bypass_plan(&self, key: &[u8]) -> Option<Plan> {
        if self.bypasses_reads() {
            return Some(Plan::Bypass(Bypass::ReadsBypassed));
        }
        (self.replayer.ledger.is_pending(key) && guard("pending_key_is_not_read"))
            .then_some(Plan::Bypass(Bypass::InvalidationPending))
    }

    #[inline]
    pub(crate) fn bypasses_reads(&self) -> bool {
        self.bypass_reads.load(Relaxed) && guard("bypassed_reads")
    }

    /// An entry that the store has declared servable, whatever this process's estimate of the time is.
    pub(crate) fn already_stored(&self, key: &[u8], bytes: Bytes) -> Option<Found<V>> {
        let Entry { header, payload } = Entry::parse(bytes).ok()?;
        let value = header.value?;
        match self.payloads.unpack(&value, payload) {
            Ok(Unpacked { row, .. }) => Some(found(row, &value, self.store.now_ms())),
            Err(unreadable) => {
                self.log_unreadable(key, &unreadable);
                None
            }
        }
    }

    fn decide(&self, key: &[u8], entry_read: EntryRead<'_, V>, policy: ReadPolicy) -> Look<V> {
        let EntryRead { answer, tracked } = entry_read;
        let bytes = match answer {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return self.miss(policy.why(Why::Miss), None),
            Err(error) => {
                tracing::debug!(cache = %self.name, %error, "read of the store failed; calling the loader");
                return Look::Load(Plan::Bypass(Bypass::of(&error)), None);
            }
        };
        let Entry { header, payload } = match Entry::parse(bytes) {
            Ok(entry) => entry,
            // A lease overwrites it.
            Err(HeaderError::Corrupt) => return self.miss(policy.why(Why::Miss), None),
            Err(HeaderError::NewerFormat) => return Look::Load(Plan::Bypass(Bypass::OtherSchema), None),
        };
        let now_ms = self.store.soon().store_ms;
        let verdict = header.verdict(now_ms);
        let value = match &header.value {
            // The lease step decides about other schemas: it may take the entry over.
            Some(value) if header.schema == self.schema && now_ms < header.ends_at_ms => value,
            _ => return self.miss(policy.why(Why::Miss), None),
        };
        if verdict == Verdict::Miss {
            return self.decide_expired(value, payload, now_ms, policy);
        }
        let Unpacked { row, bytes } = match self.payloads.unpack(value, payload) {
            Ok(unpacked) => unpacked,
            Err(unreadable) => return self.handle_unreadable(key, value, &unreadable, now_ms, policy),
        };
        if let Some(tracked) = tracked
            && let Some(weight) = self.near_weight(row.as_deref(), bytes)
        {
            tracked.fill(row.as_ref(), &header, weight, now_ms);
        }
        let found = found(row, value, now_ms);
        let decision = policy.decide(value, verdict, now_ms, !self.settings.retain_stale.is_zero());
        match decision {
            Decision::Load(why) => {
                let rescue = policy.may_rescue(found.age, self.settings.fail_safe).then_some(found);
                return self.miss(why, rescue);
            }
            _ if verdict == Verdict::Stale => {
                self.metrics.stale_hits.increment(1);
                self.metrics.served_stale(found.age);
            }
            _ => self.metrics.hits.increment(1),
        }
        match decision {
            Decision::ServeAndLoad(why) => Look::ServeAndLoad(found, why),
            _ => Look::Serve(found),
        }
    }

    /// An expired value: served only if loading fails, or at once if the policy allows expired values.
    fn decide_expired(&self, value: &Value, payload: Bytes, now_ms: u64, policy: ReadPolicy) -> Look<V> {
        let (age, fail_safe) = (age(value, now_ms), self.settings.fail_safe);
        let rescue = if policy.may_rescue(age, fail_safe) {
            // An undecodable value cannot be served.
            self.payloads.unpack(value, payload).ok().map(|unpacked| found(unpacked.row, value, now_ms))
        } else {
            None
        };
        match rescue {
            Some(found) if policy.allows_expired(age, fail_safe) => {
                self.metrics.stale_hits.increment(1);
                self.metrics.served_stale(age);
                let stale = found.stale.or(Some(Stale::Expired));
                Look::ServeAndLoad(Found { stale, ..found }, Why::Miss)
            }
            rescue => self.miss(policy.why(Why::Miss), rescue),
        }
    }

    pub(crate) fn miss(&self, why: Why, rescue: Option<Found<V>>) -> Look<V> {
        self.metrics.misses.increment(1);
        let plan = if rescue.is_some() { Plan::FillOrServe(why) } else { Plan::Fill(why) };
        Look::Load(plan, rescue)
    }
}

fn age(value: &Value, now_ms: u64) -> Duration {
    Duration::from_millis(now_ms.saturating_sub(value.loaded_at_ms))
}

fn found<V>(row: Option<Arc<V>>, value: &Value, now_ms: u64) -> Found<V> {
    Found {
        value: row,
        tier: Tier::Store,
        age: age(value, now_ms),
        version: value.version,
        stale: value.stale.then_some(Stale::Invalidated),
    }
}
