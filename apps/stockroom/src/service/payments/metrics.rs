//! The metrics of payments and time-outs.

use super::expiry::Expiry;
use metrics::{Counter, Gauge, counter, describe_counter, describe_gauge, gauge};
use std::time::Duration;

/// Who has looked at an overdue order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Its job in the queue of time-outs.
    Job,
    /// The search in the database.
    Search,
}

/// Handles on the metrics of payments.
pub(super) struct PaymentMetrics {
    pub(super) requested: Counter,
    pub(super) paid: Counter,
    pub(super) declined: Counter,
    pub(super) gateway_failed: Counter,
    pub(super) gateway_timed_out: Counter,
    timeouts_by_job: Timeouts,
    timeouts_by_search: Timeouts,
    pub(super) appended_again: Counter,
    pub(super) append_failed: Counter,
    search_last_success: Gauge,
}

struct Timeouts {
    expired: Counter,
    full: Counter,
    unchanged: Counter,
    failed: Counter,
}

impl PaymentMetrics {
    pub(super) fn register() -> Self {
        describe_counter!("stockroom_payments_total", "Payments that were requested, and answers that were recorded");
        describe_counter!("stockroom_gateway_failures_total", "Requests that the gateway did not answer, by reason");
        describe_counter!("stockroom_order_timeouts_total", "Looks at overdue orders, by who looked and outcome");
        describe_counter!("stockroom_search_payments_total", "Pending payments that the search found, by outcome");
        describe_gauge!(
            "stockroom_search_last_success_seconds",
            "Unix time of the last search for overdue orders and payments"
        );
        let payments = |outcome: &'static str| counter!("stockroom_payments_total", "outcome" => outcome);
        let gateway = |reason: &'static str| counter!("stockroom_gateway_failures_total", "reason" => reason);
        let search = |outcome: &'static str| counter!("stockroom_search_payments_total", "outcome" => outcome);
        Self {
            requested: payments("requested"),
            paid: payments("paid"),
            declined: payments("declined"),
            gateway_failed: gateway("failed"),
            gateway_timed_out: gateway("timed_out"),
            timeouts_by_job: Timeouts::register("job"),
            timeouts_by_search: Timeouts::register("search"),
            appended_again: search("appended"),
            append_failed: search("failed"),
            search_last_success: gauge!("stockroom_search_last_success_seconds"),
        }
    }

    /// Counts a look at an overdue order.
    pub(super) fn looked<E>(&self, by: By, result: &Result<Expiry, E>) {
        let timeouts = match by {
            By::Job => &self.timeouts_by_job,
            By::Search => &self.timeouts_by_search,
        };
        let counter = match result {
            Ok(Expiry::Expired) => &timeouts.expired,
            Ok(Expiry::Full) => &timeouts.full,
            Ok(Expiry::Over | Expiry::Later(_)) => &timeouts.unchanged,
            Err(_) => &timeouts.failed,
        };
        counter.increment(1);
    }

    pub(super) fn searched(&self, now_ms: u64) {
        self.search_last_success.set(Duration::from_millis(now_ms).as_secs_f64());
    }
}

impl Timeouts {
    fn register(by: &'static str) -> Self {
        let outcome =
            |outcome: &'static str| counter!("stockroom_order_timeouts_total", "by" => by, "outcome" => outcome);
        Self {
            expired: outcome("expired"),
            full: outcome("full"),
            unchanged: outcome("unchanged"),
            failed: outcome("failed"),
        }
    }
}
