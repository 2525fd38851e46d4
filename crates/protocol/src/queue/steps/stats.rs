//! The statistics of a shard.

/// The statistics of a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The server's time.
    pub now: u64,
    /// Waiting jobs by priority.
    pub waiting: [u64; 4],
    /// The number of waiting jobs that are due.
    pub ready: u64,
    /// The earliest due time of the waiting jobs.
    pub oldest_due: Option<u64>,
    /// Leased jobs.
    pub leased: u64,
    /// The number of leased jobs whose lease has expired.
    pub lease_expired: u64,
    /// Dead letters.
    pub dead: u64,
    /// Workers that sent a call within the last minute.
    pub workers: u64,
    /// Unconsumed wake-up markers.
    pub markers: u64,
    /// The end of a pause; `u64::MAX`: paused until resumed.
    pub paused_until: Option<u64>,
    /// Bytes of all records.
    pub bytes: u64,
    /// Counters since the shard was first used.
    pub totals: Totals,
}

impl Stats {
    /// Waiting jobs of all priorities.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.waiting.iter().sum()
    }

    /// How long the oldest due job has been waiting, in ms; 0 if none is due.
    #[must_use]
    pub fn late_ms(&self) -> u64 {
        self.oldest_due.map_or(0, |due| self.now.saturating_sub(due))
    }
}

/// Counters of a shard since it was first used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Jobs accepted.
    pub created: u64,
    /// Ended as done.
    pub done: u64,
    /// Failed attempts that were followed by another attempt.
    pub retried: u64,
    /// Leases that expired before a start was reported.
    pub lease_expired: u64,
    /// Leases that expired after a start was reported.
    pub crashed: u64,
    /// Became dead letters.
    pub died: u64,
    /// Ended as expired.
    pub expired: u64,
    /// Ended as discarded.
    pub discarded: u64,
    /// Ended as revoked.
    pub revoked: u64,
    /// Dead letters that were redriven.
    pub redriven: u64,
    /// Deleted by an operator.
    pub deleted: u64,
    /// Ids in an index without a record: Redis has lost data.
    pub ghosts: u64,
}
