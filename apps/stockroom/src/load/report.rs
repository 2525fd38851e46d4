//! [`Row`]: the result of one strategy, and [`table`], the report of all.

use super::tally::{Counts, Tally};
use crate::domain::Strategy;
use crate::store::Audit;
use serde::Serialize;
use std::fmt::Write;
use std::time::Duration;

/// The result of one strategy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Name of the strategy.
    pub strategy: &'static str,
    /// Completed operations per second.
    pub per_second: f64,
    /// Median latency.
    pub p50_ms: f64,
    /// 99th percentile of the latency.
    pub p99_ms: f64,
    /// How often each result occurred.
    #[serde(flatten)]
    pub counts: Counts,
    /// Movements in the ledger.
    pub movements: i64,
    /// Deliveries.
    pub deliveries: i64,
    /// Rows into which the deliveries were merged, one per product and day.
    pub days: i64,
    /// Inconsistencies that the auditor found, and changes made by others under a lock.
    pub violations: u64,
    /// Description of the first one.
    pub first_violation: Option<String>,
    #[serde(skip)]
    is_safe: bool,
}

impl Row {
    pub(super) fn new(strategy: Strategy, tally: &Tally, took: Duration) -> Self {
        let completed = f64::from(u32::try_from(tally.completed()).unwrap_or(u32::MAX));
        Self {
            strategy: strategy.name(),
            per_second: completed / took.as_secs_f64().max(f64::EPSILON),
            p50_ms: tally.quantile_ms(0.5),
            p99_ms: tally.quantile_ms(0.99),
            counts: tally.counts,
            movements: 0,
            deliveries: 0,
            days: 0,
            violations: tally.interferences,
            first_violation: (tally.interferences > 0).then(|| "another change was made under a lock".to_owned()),
            is_safe: strategy.is_safe(),
        }
    }

    pub(super) fn add(&mut self, audit: &Audit) {
        self.movements += audit.movements;
        self.deliveries += audit.deliveries;
        self.days += audit.days;
        self.violations += u64::try_from(audit.violations.len()).unwrap_or(u64::MAX);
        if let (None, Some(first)) = (&self.first_violation, audit.violations.first()) {
            self.first_violation = Some(first.to_string());
        }
    }

    /// Whether the strategy kept its guarantee. The demonstration has none.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.violations == 0 || !self.is_safe
    }
}

/// The rows as a text table. Omits the optional columns that are 0 in every row.
#[must_use]
pub fn table(rows: &[Row]) -> String {
    let columns: Vec<Vec<String>> = COLUMNS
        .iter()
        .filter(|column| column.is_required || rows.iter().any(|row| (column.of)(row) != "0"))
        .map(|column| std::iter::once(column.title.to_owned()).chain(rows.iter().map(column.of)).collect())
        .collect();
    let width = |column: &[String]| column.iter().map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    for line in 0..=rows.len() {
        for (number, column) in columns.iter().enumerate() {
            let (cell, width) = (column.get(line).map(String::as_str).unwrap_or_default(), width(column));
            // Names are left-aligned, numbers right-aligned. Writing to a string cannot fail.
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
    is_required: bool,
}

impl Column {
    const fn new(title: &'static str, of: fn(&Row) -> String) -> Self {
        Self { title, of, is_required: true }
    }

    const fn optional(title: &'static str, of: fn(&Row) -> String) -> Self {
        Self { title, of, is_required: false }
    }
}

const COLUMNS: [Column; 15] = [
    Column::new("strategy", |row| row.strategy.to_owned()),
    Column::new("ops/s", |row| format!("{:.0}", row.per_second)),
    Column::new("p50 ms", |row| format!("{:.1}", row.p50_ms)),
    Column::new("p99 ms", |row| format!("{:.1}", row.p99_ms)),
    Column::new("done", |row| row.counts.done.to_string()),
    Column::new("refused", |row| row.counts.refused.to_string()),
    Column::new("conflicts", |row| row.counts.conflicts.to_string()),
    Column::new("gave up", |row| row.counts.gave_up.to_string()),
    Column::optional("cancelled", |row| row.counts.cancelled.to_string()),
    Column::new("failed", |row| row.counts.failed.to_string()),
    Column::optional("paused", |row| row.counts.paused.to_string()),
    Column::optional("killed", |row| row.counts.killed.to_string()),
    Column::new("deliveries", |row| row.deliveries.to_string()),
    Column::new("days", |row| row.days.to_string()),
    Column::new("violations", |row| row.violations.to_string()),
];

#[cfg(test)]
mod tests {
    use super::super::tally::{Counts, Tally};
    use super::{Row, table};
    use crate::domain::Strategy;
    use std::time::Duration;

    #[test]
    fn table_omits_empty_optional_columns() -> anyhow::Result<()> {
        let mut tally = Tally::new()?;
        tally.counts = Counts { done: 1_234, paused: 5, killed: 4, ..Counts::default() };
        let took = Duration::from_secs(10);
        let rows = [Row::new(Strategy::Striped, &tally, took), Row::new(Strategy::Unfenced, &Tally::new()?, took)];
        let expected = "\
strategy  ops/s  p50 ms  p99 ms  done  refused  conflicts  gave up  failed  paused  killed  deliveries  days  violations
striped     123     0.0     0.0  1234        0          0        0       0       5       4           0     0           0
unfenced      0     0.0     0.0     0        0          0        0       0       0       0           0     0           0
";
        assert_eq!(table(&rows), expected);
        Ok(())
    }

    #[test]
    fn only_a_safe_strategy_can_be_unsound() -> anyhow::Result<()> {
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
