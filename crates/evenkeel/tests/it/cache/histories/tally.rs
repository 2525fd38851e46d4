//! The checkers' result for each history, and the sums.

use super::fleet::Played;
use serde::Serialize;
use std::fmt;
use testkit::history::{linearizable, staleness};

/// One history.
#[derive(Debug, Serialize)]
pub(super) struct Seed {
    pub(super) seed: u64,
    pub(super) verdict: Verdict,
    from_store: u64,
    from_loader: u64,
    failed_reads: u64,
    acknowledged: u64,
    refused: u64,
    unknown: u64,
    late: u64,
    killed: bool,
    paused: bool,
}

/// The result of one history.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Linearizable,
    /// A commit was acknowledged after its window had expired: there is no promise, and this is the result.
    Apart {
        stale_reads: usize,
        staleness_ms_max: f64,
    },
    /// It is not linearizable, although no window had expired.
    Violation(String),
}

/// The sums of many histories.
#[derive(Debug, Default, Serialize)]
pub(super) struct Tally {
    histories: u64,
    linearizable: u64,
    apart: u64,
    apart_with_stale_reads: u64,
    stale_reads: usize,
    staleness_ms_max: f64,
    pub(super) violations: u64,
    pub(super) fresh_reads: u64,
    from_store: u64,
    failed_reads: u64,
    pub(super) writes: u64,
    refused_writes: u64,
    unknown_writes: u64,
    killed: u64,
    paused: u64,
}

impl Seed {
    pub(super) fn evaluate(seed: u64, played: &Played, has_windows: bool) -> Self {
        let verdict = if played.late > 0 && has_windows {
            let found = staleness(&played.history);
            Verdict::Apart { stale_reads: found.stale.len(), staleness_ms_max: found.age_max().as_secs_f64() * 1_000.0 }
        } else {
            match linearizable(&played.history) {
                Ok(checked) => {
                    assert_eq!(checked.operations, played.history.0.len());
                    Verdict::Linearizable
                }
                Err(violation) => Verdict::Violation(violation.to_string()),
            }
        };
        assert_eq!(played.reads(), played.from_store + played.from_loader);
        let &Played { from_store, from_loader, failed_reads, acknowledged, refused, unknown, late, .. } = played;
        let &Played { killed, paused, .. } = played;
        Self {
            seed,
            verdict,
            from_store,
            from_loader,
            failed_reads,
            acknowledged,
            refused,
            unknown,
            late,
            killed,
            paused,
        }
    }
}

impl Tally {
    pub(super) fn add(&mut self, seed: &Seed) {
        self.histories += 1;
        match &seed.verdict {
            Verdict::Linearizable => self.linearizable += 1,
            Verdict::Apart { stale_reads, staleness_ms_max } => {
                self.apart += 1;
                self.apart_with_stale_reads += u64::from(*stale_reads > 0);
                self.stale_reads += stale_reads;
                self.staleness_ms_max = self.staleness_ms_max.max(*staleness_ms_max);
            }
            Verdict::Violation(_) => self.violations += 1,
        }
        self.fresh_reads += seed.from_store + seed.from_loader;
        self.from_store += seed.from_store;
        self.failed_reads += seed.failed_reads;
        self.writes += seed.acknowledged;
        self.refused_writes += seed.refused;
        self.unknown_writes += seed.unknown;
        self.killed += u64::from(seed.killed);
        self.paused += u64::from(seed.paused);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { histories, linearizable, apart, violations, fresh_reads, writes, .. } = self;
        write!(
            f,
            "{histories} histories: {linearizable} linearizable, {apart} apart, {violations} violations; \
             {fresh_reads} fresh reads, {writes} writes"
        )
    }
}
