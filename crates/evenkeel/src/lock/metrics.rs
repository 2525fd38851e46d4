//! The metrics of locks; docs/metrics.md lists the names. Handles are registered once, when the keel is opened, so install the recorder
//! before that. The name of a lock is not a label, because there can be millions of names.

use evenkeel_protocol::lock::error::LossReason;
use evenkeel_protocol::lock::steps::{Released, Renewed};
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

/// The metric handles of one keel.
pub(crate) struct LockMetrics {
    pub(super) acquired: Counter,
    pub(super) busy: Counter,
    pub(super) failed: Counter,
    pub(super) late: Counter,
    pub(super) wait_seconds: Histogram,
    pub(super) held: Gauge,
    pub(super) held_seconds: Histogram,
    renewed: Counter,
    pub(super) renewals_unknown: Counter,
    released: Counter,
}

impl LockMetrics {
    pub(super) fn register() -> Self {
        let acquire = |outcome: &'static str| counter!("evenkeel_lock_acquisitions_total", "outcome" => outcome);
        Self {
            acquired: acquire("acquired"),
            busy: acquire("busy"),
            failed: acquire("failed"),
            late: acquire("late"),
            wait_seconds: histogram!("evenkeel_lock_wait_seconds"),
            held: gauge!("evenkeel_lock_held"),
            held_seconds: histogram!("evenkeel_lock_held_seconds"),
            renewed: counter!("evenkeel_lock_renewals_total", "outcome" => "renewed"),
            renewals_unknown: counter!("evenkeel_lock_renewals_total", "outcome" => "unknown"),
            released: counter!("evenkeel_lock_releases_total", "outcome" => "released"),
        }
    }

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
