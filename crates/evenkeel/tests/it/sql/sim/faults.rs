//! How much is done, and what goes wrong when: drawn from the seed, by progress and not by time.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// How large a run is.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    pub(super) seed: u64,
    /// Transactions that have ended, whichever way, when the run does.
    pub(super) transactions: u64,
    pub(super) processes: usize,
    /// Transactions at once in each process.
    pub(super) tasks: u64,
    pub(super) accounts: u64,
    /// Named jobs.
    pub(super) jobs: u64,
    /// Keys of ordered messages.
    pub(super) ordering_keys: u64,
    /// A process reports its progress after this many transactions.
    pub(super) report_every: u64,
    kills: u64,
    redis_restarts: u64,
    broker_restarts: u64,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// One process dies (SIGKILL), and another takes its place.
    Kill(usize),
    /// Redis dies and comes back.
    Redis,
    /// The broker dies and comes back.
    Broker,
}

impl Scale {
    /// For every test run.
    pub(super) fn small() -> Self {
        Self {
            seed: 1,
            transactions: 240,
            processes: 3,
            tasks: 2,
            accounts: 24,
            jobs: 12,
            ordering_keys: 6,
            report_every: 5,
            kills: 3,
            redis_restarts: 1,
            broker_restarts: 1,
        }
    }

    /// For `cargo xtask sim outbox`.
    pub(super) fn long(seed: u64, transactions: u64) -> Self {
        Self {
            seed,
            transactions,
            processes: 8,
            tasks: 4,
            accounts: 2_000,
            jobs: 2_000,
            ordering_keys: 200,
            report_every: 50,
            kills: (transactions / 1_500).max(3),
            redis_restarts: (transactions / 15_000).max(1),
            broker_restarts: (transactions / 20_000).max(1),
        }
    }

    /// All faults, each with the progress at which it happens, in order. None in the first tenth, so that there is something to
    /// lose, and none in the last, so that all of them have consequences.
    pub(super) fn faults(&self) -> Vec<(u64, Fault)> {
        let mut random = StdRng::seed_from_u64(self.seed);
        let mut faults = Vec::new();
        let mut add = |count: u64, fault: &mut dyn FnMut(&mut StdRng) -> Fault| {
            for number in 0..count {
                // One in each part, so that they are spread over the run.
                let part = self.transactions * 8 / 10 / count;
                let at = self.transactions / 10 + number * part + random.random_range(0..part.max(1));
                let fault = fault(&mut random);
                faults.push((at, fault));
            }
        };
        let processes = self.processes;
        add(self.kills, &mut |random| Fault::Kill(random.random_range(0..processes)));
        add(self.redis_restarts, &mut |_| Fault::Redis);
        add(self.broker_restarts, &mut |_| Fault::Broker);
        faults.sort_by_key(|(at, _)| *at);
        faults
    }
}
