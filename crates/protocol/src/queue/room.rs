//! What a worker says of the suspects among its jobs: how many it has room for, and how its deliveries run beside them.

use evenkeel_link::support::guard;

/// How many suspects ([`Job::suspicion`](super::job::Job::suspicion)) a worker's process has a place for: those of one level at a time, and at most
/// [`Room::places`] of them. A claim puts those without a place off by [`PUT_OFF_MS`](super::steps::PUT_OFF_MS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// How many jobs the process runs at once. 0: it takes no suspect now.
    pub slots: u32,
    /// The level of the suspects that run there.
    pub level: u16,
    /// How many of them run there.
    pub running: u32,
}

impl Room {
    /// How many suspects of a level may run at once.
    #[must_use]
    pub fn places(&self, level: u16) -> u32 {
        let quarters = 2 * u32::from(level.min(16));
        if self.slots == 0 { 0 } else { self.slots.checked_shr(quarters).unwrap_or(0).max(1) }
    }

    /// Whether there is a place for one more suspect of this level.
    pub(crate) fn has_place(&self, level: u16) -> bool {
        let is_free = (self.running == 0 || self.level == level) && self.running < self.places(level);
        is_free || !guard("model_suspect_places")
    }
}

/// How a delivery runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Its handler has begun, or is about to: should its lease lapse, that is a crash. Not taken back.
    pub is_started: bool,
    /// A suspect runs beside it, so that its lapse is no crash (but for a job that must not run twice, because it has no retries).
    pub is_shielded: bool,
    /// No other suspect runs beside it: its crash is nobody else's.
    pub is_alone: bool,
}

impl Report {
    /// A delivery whose handler has not begun.
    pub const WAITS: Self = Self { is_started: false, is_shielded: false, is_alone: false };
    /// One whose handler has begun.
    pub const STARTED: Self = Self { is_started: true, is_shielded: false, is_alone: false };
    /// One whose handler has begun, with no other suspect beside it.
    pub const ALONE: Self = Self { is_started: true, is_shielded: false, is_alone: true };
}
