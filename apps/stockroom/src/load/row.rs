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

/// The table of all rows, as text. What can only happen to processes, or only to tasks, is left out where it did not.
#[must_use]
pub fn table(rows: &[Row]) -> String {
    let columns: Vec<Vec<String>> = COLUMNS
        .iter()
        .filter(|column| column.is_always || rows.iter().any(|row| (column.of)(row) != "0"))
        .map(|column| std::iter::once(column.title.to_owned()).chain(rows.iter().map(column.of)).collect())
        .collect();
    let width = |column: &[String]| column.iter().map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    for line in 0..=rows.len() {
        for (number, column) in columns.iter().enumerate() {
            let (cell, width) = (column.get(line).map(String::as_str).unwrap_or_default(), width(column));
            // Names begin at the left, numbers end at the right. Writing into a string cannot fail.
            let _ = if number == 0 { write!(text, "{cell:<width$}") } else { write!(text, "  {cell:>width$}") };
        }
        text.push('\n');
    }
    text
}

/// One column of the table.
struct Column {
    title: &'static str,
    of: fn(&Row) -> String,
    is_always: bool,
}

impl Column {
    const fn new(title: &'static str, of: fn(&Row) -> String) -> Self {
        Self { title, of, is_always: true }
    }

    const fn sometimes(title: &'static str, of: fn(&Row) -> String) -> Self {
        Self { title, of, is_always: false }
    }
}

const COLUMNS: [Column; 15] = [
    Column::new("strategy", |row| row.strategy.to_owned()),
    Column::new("answer/s", |row| format!("{:.0}", row.per_second)),
    Column::new("p50 ms", |row| format!("{:.1}", row.p50_ms)),
    Column::new("p99 ms", |row| format!("{:.1}", row.p99_ms)),
    Column::new("done", |row| row.done.to_string()),
    Column::new("refused", |row| row.refused.to_string()),
    Column::new("conflicts", |row| row.conflicts.to_string()),
    Column::new("gave up", |row| row.gave_up.to_string()),
    Column::sometimes("cancelled", |row| row.cancelled.to_string()),
    Column::new("failed", |row| row.failed.to_string()),
    Column::sometimes("paused", |row| row.paused.to_string()),
    Column::sometimes("killed", |row| row.killed.to_string()),
    Column::new("deliveries", |row| row.deliveries.to_string()),
    Column::new("days", |row| row.days.to_string()),
    Column::new("violations", |row| row.violations.to_string()),
];

#[cfg(test)]
mod tests {
    use super::super::tally::Tally;
    use super::{Row, table};
    use crate::domain::Strategy;
    use std::time::Duration;

    #[test]
    fn a_table_shows_what_happened_to_workers_and_leaves_out_what_happened_to_nobody() -> anyhow::Result<()> {
        let mut tally = Tally::new()?;
        (tally.done, tally.paused, tally.killed) = (1_234, 5, 4);
        let took = Duration::from_secs(10);
        let rows = [Row::new(Strategy::Striped, &tally, took), Row::new(Strategy::Unfenced, &Tally::new()?, took)];
        let expected = "\
strategy  answer/s  p50 ms  p99 ms  done  refused  conflicts  gave up  failed  paused  killed  deliveries  days  violations
striped        123     0.0     0.0  1234        0          0        0       0       5       4           0     0           0
unfenced         0     0.0     0.0     0        0          0        0       0       0       0           0     0           0
";
        assert_eq!(table(&rows), expected);
        Ok(())
    }

    #[test]
    fn only_a_strategy_that_promises_something_can_break_it() -> anyhow::Result<()> {
        let mut tally = Tally::new()?;
        let row = |strategy, tally: &Tally| Row::new(strategy, tally, Duration::from_secs(1));
        assert!(Strategy::ALL.into_iter().all(|strategy| row(strategy, &tally).is_sound()));
        tally.interferences = 1;
        for strategy in Strategy::ALL {
            assert_eq!(row(strategy, &tally).is_sound(), strategy == Strategy::Unfenced, "{strategy}");
        }
        Ok(())
    }
}
