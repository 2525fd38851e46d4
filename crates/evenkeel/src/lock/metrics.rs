//! The metrics of locks; docs/metrics.md lists the names. Handles are registered once, when the keel is opened, so install the recorder
//! before that. The name of a lock is not a label, because there can be millions of names.

use evenkeel_protocol::lock::error::LossReason;
use evenkeel_protocol::lock::steps::{Released, Renewed};
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

metrics! {
    /// The metric handles of one keel.
    pub(crate) struct LockMetrics {
        pub(super) acquired: Counter = counter!("evenkeel_lock_acquisitions_total", "outcome" => "acquired");
        pub(super) busy: Counter = counter!("evenkeel_lock_acquisitions_total", "outcome" => "busy");
        pub(super) failed: Counter = counter!("evenkeel_lock_acquisitions_total", "outcome" => "failed");
        pub(super) late: Counter = counter!("evenkeel_lock_acquisitions_total", "outcome" => "late");
        pub(super) wait_seconds: Histogram = histogram!("evenkeel_lock_wait_seconds");
        pub(super) held: Gauge = gauge!("evenkeel_lock_held");
        pub(super) held_seconds: Histogram = histogram!("evenkeel_lock_held_seconds");
        renewed: Counter = counter!("evenkeel_lock_renewals_total", "outcome" => "renewed");
        pub(super) renewals_unknown: Counter = counter!("evenkeel_lock_renewals_total", "outcome" => "unknown");
        released: Counter = counter!("evenkeel_lock_releases_total", "outcome" => "released");
    }
}

impl LockMetrics {
    pub(super) fn lost(&self, reason: LossReason) {
        counter!("evenkeel_lock_lost_total", "reason" => reason.label()).increment(1);
    }

    pub(super) fn renewed(&self, renewed: Renewed) {
        let outcome = match renewed {
            Renewed::Renewed { .. } => return self.renewed.increment(1),
            Renewed::Held { .. } => "held",
            Renewed::Lost => "lost",
        };
        counter!("evenkeel_lock_renewals_total", "outcome" => outcome).increment(1);
    }

    pub(super) fn released(&self, released: Released) {
        let outcome = match released {
            Released::Released { .. } => return self.released.increment(1),
            Released::Lost => "lost",
            Released::Nothing => "nothing",
        };
        counter!("evenkeel_lock_releases_total", "outcome" => outcome).increment(1);
    }
}
