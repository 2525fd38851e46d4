//! Formats the results as a table.

use super::play::Score;
use serde::Serialize;
use std::fmt::Write;

/// The row of one contestant.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The name of the contestant.
    pub name: String,
    /// Its counts in the adversarial schedule.
    pub adversarial: Score,
    /// Its counts under the random load.
    pub storm: Score,
}

/// Formats the table. The longest staleness is in ms; "at once" is the maximum number of concurrent loads.
#[must_use]
pub fn render(rows: &[Row], seed: u64) -> String {
    let mut out = String::new();
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{:width$}   adversarial schedule         storm, seed {seed}", "");
    let _ = writeln!(
        out,
        "{:width$}   {:>6} {:>8} {:>6}   {:>6} {:>8} {:>8} {:>6} {:>7} {:>6}",
        "", "stale", "longest", "loads", "stale", "longest", "phantom", "loads", "at once", "failed"
    );
    for Row { name, adversarial, storm } in rows {
        let _ = writeln!(
            out,
            "{name:width$}   {:>6} {:>8} {:>6}   {:>6} {:>8} {:>8} {:>6} {:>7} {:>6}",
            adversarial.stale_reads,
            adversarial.staleness_ms_max,
            adversarial.loads,
            storm.stale_reads,
            storm.staleness_ms_max,
            storm.phantom_reads,
            storm.loads,
            storm.loads_at_once_max,
            storm.failed_reads,
        );
    }
    out
}
