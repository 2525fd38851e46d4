//! One row of a result, as JSON and as a line of a table.

use crate::rounds::Compared;
use anyhow::Result;
use serde::Serialize;
use std::fmt::Write;

/// One measured comparison. `peer`, `ratio` and `spread` are empty if there is no peer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) bench: &'static str,
    pub(crate) row: String,
    pub(crate) unit: &'static str,
    pub(crate) ours: f64,
    pub(crate) peer: Option<f64>,
    pub(crate) peer_name: Option<&'static str>,
    pub(crate) ratio: Option<f64>,
    pub(crate) spread: Option<f64>,
}

impl Row {
    pub(crate) fn compared(
        bench: &'static str,
        row: String,
        unit: &'static str,
        peer_name: &'static str,
        found: Compared,
    ) -> Self {
        let Compared { ours, peer, ratio, spread } = found;
        let (peer, peer_name) = (Some(peer), Some(peer_name));
        Self { bench, row, unit, ours, peer, peer_name, ratio: Some(ratio), spread: Some(spread) }
    }

    /// Adds the reason if ours is worse. Higher rates are better; of all else, lower values are.
    pub(crate) fn where_behind(mut self, why: &str) -> Self {
        let is_rate = self.unit.ends_with("/s");
        if self.ratio.is_some_and(|ratio| if is_rate { ratio < 1.0 } else { ratio > 1.0 }) {
            self.row = format!("{} (behind: {why})", self.row);
        }
        self
    }

    /// A measurement without a peer; `spread` as in [`Compared`].
    pub(crate) fn alone(bench: &'static str, row: String, unit: &'static str, ours: f64, spread: Option<f64>) -> Self {
        Self { bench, row, unit, ours, peer: None, peer_name: None, ratio: None, spread }
    }

    /// A measurement that was skipped; `row` names it and the reason.
    pub(crate) fn absent(bench: &'static str, row: &str) -> Self {
        eprintln!("NOT MEASURED: {row}");
        Self::alone(bench, format!("not measured: {row}"), "", f64::NAN, None)
    }

    pub(crate) fn print_json(&self) -> Result<()> {
        println!("{}", serde_json::to_string(self)?);
        Ok(())
    }
}

/// The rows as a Markdown table.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut table =
        String::from("| row | unit | ours | peer | compared with | ratio | spread |\n|---|---|--:|--:|---|--:|--:|\n");
    for row in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(table, "{}", line(row));
    }
    table
}

/// A row of the Markdown table.
pub(crate) fn line(row: &Row) -> String {
    let cells = [
        row.row.clone(),
        row.unit.to_owned(),
        number(row.ours),
        row.peer.map(number).unwrap_or_default(),
        row.peer_name.unwrap_or_default().to_owned(),
        row.ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
        row.spread.map(|spread| format!("{:.0} %", spread * 100.0)).unwrap_or_default(),
    ];
    format!("| {} |", cells.join(" | "))
}

/// Formats as `123,456`, `12.3` or `0.12`, and as nothing if there is no value.
fn number(value: f64) -> String {
    if value.is_nan() {
        return String::new();
    }
    if value < 100.0 {
        return if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") };
    }
    let digits = format!("{value:.0}");
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_why_only_where_it_is_behind() {
        let row = |unit, ratio| {
            let found = Compared { ours: ratio, peer: 1.0, ratio, spread: 0.0 };
            Row::compared("", "row".to_owned(), unit, "peer", found).where_behind("so").row
        };
        assert_eq!([row("jobs/s", 2.0), row("ms", 0.5)], ["row", "row"]);
        assert_eq!([row("jobs/s", 0.5), row("ms", 2.0)], ["row (behind: so)", "row (behind: so)"]);
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!([1_234_567.8, 999.6, 12.34, 0.123].map(number), ["1,234,568", "1,000", "12.3", "0.12"]);
    }
}
