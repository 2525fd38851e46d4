//! The metrics of a limit; docs/metrics.md lists the names. Handles are registered once, when the limit is opened, so install the recorder
//! before that. Subjects are no labels, because there can be millions.

use super::decision::{DecidedBy, Decision};
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use std::sync::Arc;

metrics! {
    /// The metric handles of one limit.
    pub(super) struct LimitMetrics(limit) {
        limit: Arc<str> = limit();
        admitted: Counter = counter!("evenkeel_limit_decisions_total", "limit" => limit(), "outcome" => "admitted", "by" => "store");
        refused: Counter = counter!("evenkeel_limit_decisions_total", "limit" => limit(), "outcome" => "refused", "by" => "store");
        pub(super) wait_seconds: Histogram = histogram!("evenkeel_limit_wait_seconds", "limit" => limit());
        pub(super) instances: Gauge = gauge!("evenkeel_limit_instances", "limit" => limit());
    }
}

impl LimitMetrics {
    pub(super) fn decided(&self, decision: &Decision) {
        match (decision, decision.by()) {
            (Decision::Admitted(_), DecidedBy::Store) => self.admitted.increment(1),
            (Decision::Refused(_), DecidedBy::Store) => self.refused.increment(1),
            (_, by) => {
                let outcome = if decision.is_admitted() { "admitted" } else { "refused" };
                let limit = Arc::clone(&self.limit);
                counter!("evenkeel_limit_decisions_total", "limit" => limit, "outcome" => outcome, "by" => by.label())
                    .increment(1);
            }
        }
    }
}
