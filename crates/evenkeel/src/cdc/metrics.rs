//! The metrics of change capture; docs/metrics.md lists their names.

use metrics::{Counter, Gauge, counter, gauge};

metrics! {
    /// The metrics of the reader of one source.
    pub(super) struct CdcMetrics(source) {
        pub(super) changes: Counter = counter!("evenkeel_cdc_changes_total", "source" => source());
        pub(super) effects: Counter = counter!("evenkeel_cdc_effects_total", "source" => source());
        pub(super) retries: Counter = counter!("evenkeel_cdc_retries_total", "source" => source());
        pub(super) parked: Counter = counter!("evenkeel_cdc_parked_total", "source" => source());
        pub(super) saves: Counter = counter!("evenkeel_cdc_checkpoints_total", "source" => source());
        pub(super) gaps: Counter = counter!("evenkeel_cdc_gaps_total", "source" => source());
        pub(super) lag: Gauge = gauge!("evenkeel_cdc_lag_seconds", "source" => source());
        pub(super) pending: Gauge = gauge!("evenkeel_cdc_changes_pending", "source" => source());
        pub(super) is_reader: Gauge = gauge!("evenkeel_cdc_is_reader", "source" => source());
    }
}
