//! The metrics of an inbox; docs/metrics.md lists their names.

use metrics::{Counter, Gauge, counter, gauge};

/// The metrics of an inbox.
pub(super) struct InboxMetrics {
    pub(super) fresh: Counter,
    pub(super) seen: Counter,
    pub(super) parked: Counter,
    pub(super) deleted: Counter,
    pub(super) last_success: Gauge,
}

impl InboxMetrics {
    pub(super) fn register() -> Self {
        let messages = |answer| counter!("evenkeel_inbox_messages_total", "answer" => answer);
        Self {
            fresh: messages("fresh"),
            seen: messages("seen"),
            parked: messages("parked"),
            deleted: counter!("evenkeel_inbox_deleted_total"),
            last_success: gauge!("evenkeel_inbox_retention_last_success_seconds"),
        }
    }
}
