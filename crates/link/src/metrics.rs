//! The metrics of the link; docs/metrics.md lists the names. Handles are registered once, when the link is opened, so
//! install the recorder before that.

use crate::epoch::health::EndReason;
use metrics::{Counter, Gauge, counter, gauge};

/// The link's handles.
pub(crate) struct Metrics {
    pub(crate) epoch: Gauge,
    pub(crate) up: Gauge,
    pub(crate) in_flight: Gauge,
    pub(crate) commands: Counter,
    pub(crate) timeouts: Counter,
    pub(crate) busy: Counter,
    pub(crate) open_failures: Counter,
    pub(crate) heartbeat_success: Gauge,
    pub(crate) supervisor_success: Gauge,
}

impl Metrics {
    pub(crate) fn register() -> Self {
        Self {
            epoch: gauge!("evenkeel_link_epoch"),
            up: gauge!("evenkeel_link_up"),
            in_flight: gauge!("evenkeel_link_in_flight"),
            commands: counter!("evenkeel_link_commands_total"),
            timeouts: counter!("evenkeel_link_timeouts_total"),
            busy: counter!("evenkeel_link_busy_total"),
            open_failures: counter!("evenkeel_link_open_failures_total"),
            heartbeat_success: gauge!("evenkeel_link_heartbeat_last_success_seconds"),
            supervisor_success: gauge!("evenkeel_link_supervisor_last_success_seconds"),
        }
    }

    /// Rare, so the counter is looked up at each call.
    pub(crate) fn ended(reason: EndReason) {
        counter!("evenkeel_link_epochs_ended_total", "reason" => reason.as_str()).increment(1);
    }
}
