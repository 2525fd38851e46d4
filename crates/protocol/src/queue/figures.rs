//! The figures of a shard.

/// Figures of a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The server's time.
    pub now: u64,
    /// Waiting jobs by priority.
    pub waiting: [u64; 4],
    /// Of these, how many are due.
    pub ready: u64,
    /// The earliest due time of all that wait.
    pub oldest_due: Option<u64>,
    /// Leased jobs.
    pub leased: u64,
    /// Of these, how many have a lapsed lease.
    pub lapsed: u64,
    /// Dead letters.
    pub dead: u64,
    /// Workers heard of within the last minute.
    pub workers: u64,
    /// Markers nobody has popped.
    pub markers: u64,
    /// Paused until then; `u64::MAX`: until resumed.
    pub paused_until: Option<u64>,
    /// Bytes of all records.
    pub bytes: u64,
    /// What has happened since the shard was first used.
    pub totals: Totals,
}

impl Stats {
    /// Jobs that wait, of all priorities.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.waiting.iter().sum()
    }

    /// How long ago the oldest job became due that still waits, in ms; 0 if none is due.
    #[must_use]
    pub fn late_ms(&self) -> u64 {
        self.oldest_due.map_or(0, |due| self.now.saturating_sub(due))
    }
}

/// What has happened in a shard since it was first used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Jobs accepted.
    pub created: u64,
    /// Ended as done.
    pub done: u64,
    /// Failures that led to another attempt.
    pub retried: u64,
    /// Lapses before a start was reported.
    pub lapsed: u64,
    /// Lapses after one.
    pub crashed: u64,
    /// Became dead letters.
    pub died: u64,
    /// Ended as expired.
    pub expired: u64,
    /// Ended as discarded.
    pub discarded: u64,
    /// Ended as revoked.
    pub revoked: u64,
    /// Dead letters sent back.
    pub redriven: u64,
    /// Deleted by an operator.
    pub deleted: u64,
    /// Ids found in an index without a record: Redis lost something.
    pub ghosts: u64,
}
