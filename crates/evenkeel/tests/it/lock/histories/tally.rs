//! The counts of histories and of their results.

use serde::Serialize;

#[derive(Debug, Default, Serialize)]
pub(super) struct Tally {
    /// The last of the seeds counted.
    pub(super) lock_seed: u64,
    pub(super) lock_histories: u64,
    pub(super) holds: u64,
    /// Holds with a fence.
    pub(super) fences: u64,
    pub(super) busy: u64,
    pub(super) failed: u64,
    /// Holds whose guard was lost.
    pub(super) lost: u64,
    /// Acquisitions whose future was dropped before it was ready.
    pub(super) dropped_acquires: u64,
    /// Guards that were leaked, so that only `max_hold` ends them.
    pub(super) leaked: u64,
    pub(super) broken: u64,
    /// Processes that died during operations.
    pub(super) died: u64,
    pub(super) violations: u64,
}

impl Tally {
    pub(super) fn add(&mut self, one: &Self) {
        self.lock_seed = one.lock_seed;
        self.lock_histories += one.lock_histories;
        self.holds += one.holds;
        self.fences += one.fences;
        self.busy += one.busy;
        self.failed += one.failed;
        self.lost += one.lost;
        self.dropped_acquires += one.dropped_acquires;
        self.leaked += one.leaked;
        self.broken += one.broken;
        self.died += one.died;
        self.violations += one.violations;
    }
}
