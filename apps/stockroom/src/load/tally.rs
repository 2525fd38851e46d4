//! [`Tally`]: the results of all operations.

use super::{Ended, OperationResult};
use anyhow::Result;
use hdrhistogram::Histogram;

/// Longer times are recorded as ten minutes.
const MICROS_MAX: u64 = 600_000_000;

/// The results of all operations.
pub(super) struct Tally {
    pub(super) done: u64,
    pub(super) refused: u64,
    pub(super) gave_up: u64,
    pub(super) cancelled: u64,
    pub(super) failed: u64,
    pub(super) conflicts: u64,
    pub(super) interferences: u64,
    /// Workers that were paused for longer than their lease, and workers that were killed.
    pub(super) paused: u64,
    pub(super) killed: u64,
    micros: Histogram<u64>,
}

impl Tally {
    pub(super) fn new() -> Result<Self> {
        let micros = Histogram::new_with_bounds(1, MICROS_MAX, 3)?;
        Ok(Self {
            done: 0,
            refused: 0,
            gave_up: 0,
            cancelled: 0,
            failed: 0,
            conflicts: 0,
            interferences: 0,
            paused: 0,
            killed: 0,
            micros,
        })
    }

    pub(super) fn add(&mut self, ended: Ended) {
        match ended.result {
            OperationResult::Done => self.done += 1,
            OperationResult::Refused => self.refused += 1,
            OperationResult::GaveUp => self.gave_up += 1,
            OperationResult::Cancelled => self.cancelled += 1,
            OperationResult::Failed => self.failed += 1,
        }
        self.conflicts += u64::from(ended.conflicts);
        self.interferences += u64::from(ended.interferences);
        // The time of a cancelled operation is not its latency.
        if ended.result != OperationResult::Cancelled {
            self.micros.saturating_record(ended.micros);
        }
    }

    /// Number of operations that completed.
    pub(super) fn completed(&self) -> u64 {
        self.done + self.refused + self.gave_up
    }

    /// A quantile of the latency, in milliseconds.
    pub(super) fn quantile_ms(&self, quantile: f64) -> f64 {
        let micros = self.micros.value_at_quantile(quantile);
        f64::from(u32::try_from(micros).unwrap_or(u32::MAX)) / 1_000.0
    }
}
