//! A worker's capacity for suspects, and the report about each of its deliveries.

use evenkeel_link::support::guard;

/// A worker's capacity for suspects ([`Job::suspicion`](crate::queue::job::Job::suspicion)): they must be of one level at a time, and at most
/// [`Room::suspects_max`] of them run at once. A claim delays those without a free slot by [`PUT_OFF_MS`](super::PUT_OFF_MS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// The number of jobs that the process runs at once. 0: it accepts no suspect now.
    pub slots: u32,
    /// The level of its running suspects.
    pub level: u16,
    /// The number of its running suspects.
    pub running: u32,
}

impl Room {
    /// The maximum number of suspects of a level that run at once.
    #[must_use]
    pub fn suspects_max(&self, level: u16) -> u32 {
        let quarters = 2 * u32::from(level.min(16));
        if self.slots == 0 { 0 } else { self.slots.checked_shr(quarters).unwrap_or(0).max(1) }
    }

    /// Whether one more suspect of this level may run.
    pub(crate) fn has_room(&self, level: u16) -> bool {
        let is_free = (self.running == 0 || self.level == level) && self.running < self.suspects_max(level);
        is_free || !guard("model_suspect_places")
    }
}

/// The report of a worker about a delivery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Its handler has begun or is about to: if its lease expires, that is a crash. Never reset.
    pub is_started: bool,
    /// A suspect runs in the same process, so an expiry of its lease is not a crash (unless the job has no retries and must not run twice).
    pub is_shielded: bool,
    /// No other suspect runs in the same process: a crash is attributed to this job.
    pub is_alone: bool,
}

impl Report {
    /// A delivery whose handler has not begun.
    pub const WAITS: Self = Self { is_started: false, is_shielded: false, is_alone: false };
    /// A delivery whose handler has begun.
    pub const STARTED: Self = Self { is_started: true, is_shielded: false, is_alone: false };
    /// A delivery whose handler has begun, without another suspect in the process.
    pub const ALONE: Self = Self { is_started: true, is_shielded: false, is_alone: true };
}
