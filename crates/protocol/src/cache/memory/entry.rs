//! What the steps do to an entry.

use crate::cache::header::{Entry, Header, Value};
use crate::cache::steps::{Generation, Invalidation, Mode, SPAN_MS_MAX, Why};
use bytes::Bytes;
use evenkeel_link::support::guard;

impl Entry {
    /// An entry without a value. The floor and the last invalidation of an earlier entry under the key are lost. The ordinals begin
    /// at the current time, so that they differ from those of an earlier entry even if a delayed copy of a lease restores that
    /// entry's generation.
    pub(super) fn create(now_ms: u64, generation: Generation, schema: u32, ends_at_ms: u64) -> Self {
        let first = if guard("model_creation_ordinals") { u32::try_from(now_ms % (1 << 31)).unwrap_or(0) } else { 0 };
        let header = Header { schema, generation, granted: first, filled: first, ends_at_ms, ..Header::default() };
        Self { header, payload: Bytes::new() }
    }

    /// The value, if it has not expired and was not invalidated.
    pub(super) fn servable(&self, now_ms: u64) -> Option<Value> {
        let is_spent = |value: &Value| now_ms >= value.hard_until_ms && guard("model_spent");
        self.header.value.filter(|value| !value.stale && !is_spent(value))
    }

    /// Whether there is a value that makes the load unnecessary.
    pub(super) fn satisfies(&self, why: Why, now_ms: u64) -> bool {
        let Some(value) = self.servable(now_ms) else { return false };
        match why {
            Why::Miss | Why::Stale => guard("model_lease_already_stored"),
            Why::Refresh => guard("model_refresh_due") && now_ms < value.soft_until_ms,
            Why::Below(version) => guard("model_lease_below") && value.version.is_some_and(|stored| stored >= version),
            Why::Older(age_ms_max) => now_ms.saturating_sub(value.loaded_at_ms) <= span(age_ms_max),
        }
    }

    /// Invalidates every load granted so far: by the generation and, should a generation ever recur, by the ordinals.
    pub(super) fn begin_generation(&mut self, generation: Generation) {
        self.header.generation = generation;
        self.header.granted = self.header.granted.saturating_add(1);
        if guard("model_void_ordinals") {
            self.header.filled = self.header.granted;
        }
        self.header.lease = None;
    }

    pub(super) fn drop_value(&mut self) {
        self.header.value = None;
        self.payload = Bytes::new();
    }

    /// Whether a replica that lags by at most `lag_ms_max` may lack a write that was invalidated before `at_ms`. A last invalidation
    /// that is not known may be later.
    pub(super) fn may_lack_writes(&self, lag_ms_max: u64, at_ms: u64) -> bool {
        let known_ms = self.header.invalidated_at_ms;
        lag_ms_max > 0 && (known_ms == 0 || at_ms < known_ms + span(lag_ms_max))
    }

    pub(super) fn extend_to(&mut self, time_ms: u64) {
        self.header.ends_at_ms = self.header.ends_at_ms.max(time_ms);
    }

    pub(super) fn invalidate(&mut self, now_ms: u64, invalidation: &Invalidation) {
        if guard("model_invalidate_generation") {
            self.begin_generation(invalidation.generation);
        }
        // If loaders read replicas; otherwise it stays unknown, which costs no space.
        let matters = invalidation.lag_ms_max > 0 || self.header.invalidated_at_ms > 0;
        if matters && guard("model_invalidated_at") {
            self.header.invalidated_at_ms = self.header.invalidated_at_ms.max(now_ms);
        }
        self.header.floor = self.header.floor.max(invalidation.floor.unwrap_or(0));
        match (invalidation.mode, &mut self.header.value) {
            (Mode::Expire { retain_ms }, Some(value)) => {
                let mut hard_until_ms = now_ms + span(retain_ms);
                if guard("model_hard_never_renewed") {
                    hard_until_ms = hard_until_ms.min(value.hard_until_ms);
                }
                if retain_ms == 0 && guard("model_spent_at_once") {
                    hard_until_ms = 0; // expired even for readers whose estimate of the time is behind
                }
                value.hard_until_ms = hard_until_ms;
                value.stale = guard("model_invalidate_stale");
            }
            (Mode::Purge, Some(value)) if !guard("model_purge") => value.hard_until_ms = 0,
            _ => self.drop_value(),
        }
    }
}

pub(super) fn span(span_ms: u64) -> u64 {
    span_ms.min(SPAN_MS_MAX)
}
