//! The metrics of units of work; docs/metrics.md lists their names.

use super::commit::Committed;
use crate::sql::error::SqlError;
use metrics::{Counter, Histogram, counter, histogram};

metrics! {
    /// The metrics of one keel.
    pub(crate) struct WorkMetrics {
        committed: Counter = counter!("evenkeel_work_commits_total", "outcome" => "committed");
        #[cfg(feature = "cache")]
        refused: Counter = counter!("evenkeel_work_commits_total", "outcome" => "refused");
        lost: Counter = counter!("evenkeel_work_commits_total", "outcome" => "lost");
        failed: Counter = counter!("evenkeel_work_commits_total", "outcome" => "failed");
        unknown: Counter = counter!("evenkeel_work_commits_total", "outcome" => "unknown");
        left: Counter = counter!("evenkeel_work_left_to_relay_total");
        fast_path: Histogram = histogram!("evenkeel_work_fast_path_seconds");
    }
}

impl WorkMetrics {
    /// Records a commit after its fast path.
    pub(super) fn committed(&self, committed: &Committed) {
        self.committed.increment(1);
        self.fast_path.record(committed.took.as_secs_f64());
        if !committed.carried_out {
            self.left.increment(1);
        }
    }

    /// Records a commit that failed or whose outcome is unknown.
    pub(super) fn failed(&self, error: &SqlError) {
        let counter = match error {
            #[cfg(feature = "cache")]
            SqlError::Window(_) => &self.refused,
            SqlError::Lost => &self.lost,
            error if error.outcome_unknown() => &self.unknown,
            _ => &self.failed,
        };
        counter.increment(1);
    }
}
