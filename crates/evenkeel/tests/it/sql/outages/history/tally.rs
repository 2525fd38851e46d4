//! The counts of histories.

use serde::Serialize;

#[derive(Debug, Default, Serialize)]
pub(in crate::sql::outages) struct Tally {
    /// The last of the seeds counted.
    pub(super) units_seed: u64,
    units_histories: u64,
    /// Units of work that were committed, the effects of all of them, and those of the largest.
    pub(super) units: u64,
    pub(super) effects: u64,
    pub(in crate::sql::outages) largest: u64,
    /// Units of work that left effects to a relay.
    pub(in crate::sql::outages) left: u64,
    pub(in crate::sql::outages) outages: u64,
    /// Reads of the process that committed, and those that returned an earlier value.
    pub(super) reads: u64,
    pub(super) stale_at_home: u64,
    /// Entries that another process read earlier than SQL when all was done; jobs that were missing or doubled; units that were not done.
    pub(super) stale_elsewhere: u64,
    pub(super) jobs_wrong: u64,
    pub(super) unfinished: u64,
}

impl Tally {
    pub(super) fn of(seed: u64) -> Self {
        Self { units_seed: seed, units_histories: 1, ..Self::default() }
    }

    pub(in crate::sql::outages) fn violations(&self) -> u64 {
        self.stale_at_home + self.stale_elsewhere + self.jobs_wrong + self.unfinished
    }

    pub(in crate::sql::outages) fn add(&mut self, one: &Self) {
        self.units_seed = one.units_seed;
        self.units_histories += one.units_histories;
        self.units += one.units;
        self.effects += one.effects;
        self.largest = self.largest.max(one.largest);
        self.left += one.left;
        self.outages += one.outages;
        self.reads += one.reads;
        self.stale_at_home += one.stale_at_home;
        self.stale_elsewhere += one.stale_elsewhere;
        self.jobs_wrong += one.jobs_wrong;
        self.unfinished += one.unfinished;
    }
}
