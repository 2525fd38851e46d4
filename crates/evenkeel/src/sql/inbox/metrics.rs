//! The metrics of an inbox; docs/metrics.md lists their names.

use metrics::{Counter, Gauge, counter, gauge};

metrics! {
    /// The metrics of an inbox.
    pub(super) struct InboxMetrics {
        pub(super) fresh: Counter = counter!("evenkeel_inbox_messages_total", "answer" => "fresh");
        pub(super) seen: Counter = counter!("evenkeel_inbox_messages_total", "answer" => "seen");
        pub(super) parked: Counter = counter!("evenkeel_inbox_messages_total", "answer" => "parked");
        pub(super) deleted: Counter = counter!("evenkeel_inbox_deleted_total");
        pub(super) last_success: Gauge = gauge!("evenkeel_inbox_retention_last_success_seconds");
    }
}
