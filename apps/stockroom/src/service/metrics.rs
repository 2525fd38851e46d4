//! The metrics of changes, by strategy.

use crate::domain::Strategy;
use crate::strategy::{Applied, ChangeError};
use metrics::{Counter, counter, describe_counter};

/// Handles on the counters, by strategy.
pub(super) struct Counters(Vec<StrategyCounters>);

struct StrategyCounters {
    done: Counter,
    refused: Counter,
    failed: Counter,
    conflicts: Counter,
}

impl Counters {
    pub(super) fn register() -> Self {
        describe_counter!("stockroom_changes_total", "Changes of stock, by strategy and outcome");
        describe_counter!("stockroom_conflicts_total", "Attempts of a change that conflicted with another change");
        let by_strategy = |strategy: Strategy| {
            let outcome = |outcome: &'static str| counter!("stockroom_changes_total", "strategy" => strategy.name(), "outcome" => outcome);
            StrategyCounters {
                done: outcome("done"),
                refused: outcome("refused"),
                failed: outcome("failed"),
                conflicts: counter!("stockroom_conflicts_total", "strategy" => strategy.name()),
            }
        };
        Self(Strategy::ALL.map(by_strategy).into())
    }

    pub(super) fn count(&self, strategy: Strategy, result: &Result<Applied, ChangeError>) {
        let Some(counters) = self.0.get(strategy as usize) else { return };
        match result {
            Ok(applied) => {
                counters.done.increment(1);
                counters.conflicts.increment(u64::from(applied.conflicts + applied.interferences));
            }
            Err(ChangeError::Rejected(_) | ChangeError::NothingToRelease) => counters.refused.increment(1),
            Err(ChangeError::Conflict { conflicts }) => {
                counters.failed.increment(1);
                counters.conflicts.increment(u64::from(*conflicts));
            }
            Err(_) => counters.failed.increment(1),
        }
    }
}
