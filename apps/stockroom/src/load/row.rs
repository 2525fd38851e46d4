//! [`Row`]: what is told of one strategy, and the table of all.

use super::tally::Tally;
use crate::domain::Strategy;
use crate::store::Audit;
use serde::Serialize;
use std::fmt::Write;
use std::time::Duration;

/// What is told of one strategy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name.
    pub strategy: &'static str,
    /// Answers in a second.
    pub per_second: f64,
    /// Half of the answers came within this time.
    pub p50_ms: f64,
    /// 99 of 100 answers came within this time.
    pub p99_ms: f64,
    /// Changes that happened.
    pub done: u64,
    /// Changes that the rule forbade.
    pub refused: u64,
    /// How often a change had to begin again because another was faster.
    pub conflicts: u64,
    /// Changes that were given up, because others were faster again and again.
    pub gave_up: u64,
    /// Changes whose task was cancelled.
    pub cancelled: u64,
    /// Changes that database or Redis did not do.
    pub failed: u64,
    /// Workers that were stopped for longer than their locks last.
    pub paused: u64,
    /// Workers that were killed.
    pub killed: u64,
    /// Movements in the ledger.
    pub movements: i64,
    /// Deliveries that were written.
    pub deliveries: i64,
    /// Into so many rows of days.
    pub days: i64,
    /// What the auditor found, and how often somebody else was inside a lock.
    pub violations: u64,
    /// The first of them, in words.
    pub first_violation: Option<String>,
    #[serde(skip)]
    is_safe: bool,
}

impl Row {
    pub(super) fn new(strategy: Strategy, tally: &Tally, took: Duration) -> Self {
        let answered = f64::from(u32::try_from(tally.answered()).unwrap_or(u32::MAX));
        Self {
            strategy: strategy.name(),
            per_second: answered / took.as_secs_f64().max(f64::EPSILON),
            p50_ms: tally.quantile_ms(0.5),
            p99_ms: tally.quantile_ms(0.99),
            done: tally.done,
            refused: tally.refused,
            conflicts: tally.conflicts,
            gave_up: tally.gave_up,
            cancelled: tally.cancelled,
            failed: tally.failed,
            paused: tally.paused,
            killed: tally.killed,
            movements: 0,
            deliveries: 0,
            days: 0,
            // Nobody else changes these products, so whoever was inside a lock besides its holder was let in.
            violations: tally.interferences,
            first_violation: (tally.interferences > 0).then(|| "somebody else was inside a lock".to_owned()),
            is_safe: strategy.is_safe(),
        }
    }

    pub(super) fn add(&mut self, audit: &Audit) {
        self.movements += audit.movements;
        self.deliveries += audit.deliveries.0;
        self.days += audit.deliveries.1;
        self.violations += u64::try_from(audit.violations.len()).unwrap_or(u64::MAX);
        if let (None, Some(first)) = (&self.first_violation, audit.violations.first()) {
            self.first_violation = Some(first.to_string());
        }
    }

    /// Whether the strategy did what it promises. The demonstration promises nothing.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.violations == 0 || !self.is_safe
    }
}

/// The table of all rows, as text.
#[must_use]
pub fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<18} {:>8} {:>9} {:>9} {:>7} {:>8} {:>9} {:>8} {:>9} {:>7} {:>10} {:>5} {:>10}\n",
        "strategy",
        "answer/s",
        "p50 ms",
        "p99 ms",
        "done",
        "refused",
        "conflicts",
        "gave up",
        "cancelled",
        "failed",
        "deliveries",
        "days",
        "violations"
    );
    for row in rows {
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "{:<18} {:>8.0} {:>9.1} {:>9.1} {:>7} {:>8} {:>9} {:>8} {:>9} {:>7} {:>10} {:>5} {:>10}",
            row.strategy,
            row.per_second,
            row.p50_ms,
            row.p99_ms,
            row.done,
            row.refused,
            row.conflicts,
            row.gave_up,
            row.cancelled,
            row.failed,
            row.deliveries,
            row.days,
            row.violations
        );
    }
    text
}
