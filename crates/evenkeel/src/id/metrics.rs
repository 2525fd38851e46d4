//! The metrics of ids; docs/metrics.md lists the names. Handles are registered once per generator, so install the recorder before that.

use metrics::{Counter, counter};

metrics! {
    /// The metric handles of one generator.
    pub(super) struct IdMetrics {
        pub(super) acquired: Counter = counter!("evenkeel_id_reservations_total", "outcome" => "acquired");
        pub(super) extended: Counter = counter!("evenkeel_id_reservations_total", "outcome" => "extended");
        pub(super) lost: Counter = counter!("evenkeel_id_reservations_total", "outcome" => "lost");
        pub(super) failed: Counter = counter!("evenkeel_id_reservations_total", "outcome" => "failed");
        pub(super) waits: Counter = counter!("evenkeel_id_waits_total");
    }
}

#[cfg(feature = "sql")]
metrics! {
    /// The metric handles of one sequence.
    pub(super) struct SegmentMetrics {
        pub(super) used: Counter = counter!("evenkeel_id_blocks_total", "outcome" => "used");
        pub(super) unwitnessed: Counter = counter!("evenkeel_id_blocks_total", "outcome" => "unwitnessed");
        pub(super) discarded: Counter = counter!("evenkeel_id_blocks_total", "outcome" => "discarded");
        pub(super) failed: Counter = counter!("evenkeel_id_blocks_total", "outcome" => "failed");
    }
}
