//! [`Tally`]: the results of all operations, and their [`Counts`].

use super::{Ended, OperationResult};
use anyhow::Result;
use hdrhistogram::Histogram;
use serde::Serialize;

/// Longer times are recorded as ten minutes.
const MICROS_MAX: u64 = 600_000_000;

/// How often each result occurred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Committed changes.
    pub done: u64,
    /// Changes that the rule forbade.
    pub refused: u64,
    /// Attempts that conflicted with another change.
    pub conflicts: u64,
    /// Changes whose attempts were used up.
    pub gave_up: u64,
    /// Changes whose task was cancelled.
    pub cancelled: u64,
    /// Changes at which the database or Redis failed.
    pub failed: u64,
    /// Workers that were paused for longer than their lease.
    pub paused: u64,
    /// Workers that were killed.
    pub killed: u64,
}

/// The results of all operations.
pub(super) struct Tally {
    pub(super) counts: Counts,
    pub(super) interferences: u64,
    micros: Histogram<u64>,
}

impl Tally {
    pub(super) fn new() -> Result<Self> {
        let micros = Histogram::new_with_bounds(1, MICROS_MAX, 3)?;
        Ok(Self { counts: Counts::default(), interferences: 0, micros })
    }

    pub(super) fn add(&mut self, ended: Ended) {
        let counts = &mut self.counts;
        match ended.result {
            OperationResult::Done => counts.done += 1,
            OperationResult::Refused => counts.refused += 1,
            OperationResult::GaveUp => counts.gave_up += 1,
            OperationResult::Cancelled => counts.cancelled += 1,
            OperationResult::Failed => counts.failed += 1,
        }
        counts.conflicts += u64::from(ended.conflicts);
        self.interferences += u64::from(ended.interferences);
        // The time of a cancelled operation is not its latency.
        if ended.result != OperationResult::Cancelled {
            self.micros.saturating_record(ended.micros);
        }
    }

    /// Number of operations that completed.
    pub(super) fn completed(&self) -> u64 {
        self.counts.done + self.counts.refused + self.counts.gave_up
    }

    /// A quantile of the latency, in milliseconds.
    pub(super) fn quantile_ms(&self, quantile: f64) -> f64 {
        let micros = self.micros.value_at_quantile(quantile);
        f64::from(u32::try_from(micros).unwrap_or(u32::MAX)) / 1_000.0
    }
}
