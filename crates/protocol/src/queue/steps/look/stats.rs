//! [`ReadStats`]: the statistics of a shard.

use crate::queue::job::Priority;
use crate::queue::steps::prelude::*;

/// Reads the statistics of the shard.
#[derive(Clone, Copy, Debug)]
pub struct ReadStats;

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

/// The names of the bytes and of the counters, in the order of [`Totals`].
const TOTALS: [&str; 13] = [
    "bytes",
    "created",
    "done",
    "retried",
    "lapsed",
    "crashed",
    "died",
    "expired",
    "discarded",
    "revoked",
    "redriven",
    "deleted",
    "ghosts",
];

impl Step<Shard> for ReadStats {
    type Reply = Stats;

    fn call(&self, _: &Shard) -> Call {
        Call::function(&scripts::STATS, TOTALS.iter().fold(Args::default(), |args, name| args.bytes(*name)))
    }

    fn reply(&self, value: Value) -> Replied<Stats> {
        let figures = array(value)?.iter().map(integer).collect::<Result<Vec<i64>, _>>()?;
        let figures: [i64; 26] = figures.try_into().map_err(|_| wire::unexpected("stats"))?;
        let optional = |at: usize| u64::try_from(figures[at]).ok();
        let at = |at: usize| optional(at).unwrap_or(0);
        Ok(Stats {
            now: at(0),
            waiting: [at(1), at(2), at(3), at(4)],
            ready: at(5),
            oldest_due: optional(6),
            leased: at(7),
            lease_expired: at(8),
            dead: at(9),
            workers: at(10),
            markers: at(11),
            paused_until: optional(12).map(wire::pause_end),
            bytes: at(13),
            totals: Totals {
                created: at(14),
                done: at(15),
                retried: at(16),
                lease_expired: at(17),
                crashed: at(18),
                died: at(19),
                expired: at(20),
                discarded: at(21),
                revoked: at(22),
                redriven: at(23),
                deleted: at(24),
                ghosts: at(25),
            },
        })
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<Stats> {
        let lease_now = state.lease_now(now);
        let lease_expired = state.leased.iter().take_while(|(deadline, _)| *deadline <= lease_now);
        Ok(Stats {
            now,
            waiting: Priority::ALL.map(|priority| count(state.due[priority as usize].len())),
            ready: count(state.ready(now, usize::MAX)),
            oldest_due: state.earliest(),
            leased: count(state.leased.len()),
            lease_expired: count(lease_expired.count()),
            dead: count(state.dead.len()),
            workers: state.counted_workers(lease_now),
            markers: state.markers,
            paused_until: state.paused(now),
            bytes: state.bytes,
            totals: state.totals,
        })
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
