//! The rows of docs/metrics.md: what each metric is, as `/metrics` and the dashboard say it.

use metrics::{describe_counter, describe_gauge, describe_histogram};

/// docs/metrics.md.
pub const METRICS_PAGE: &str = include_str!("../../../docs/metrics.md");

/// A metric, as the page lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricRow<'a> {
    /// The name.
    pub name: &'a str,
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'a str,
    /// The names of the labels.
    pub labels: Vec<&'a str>,
    /// What it means.
    pub meaning: &'a str,
}

/// The rows of the page.
#[must_use]
pub fn metric_rows(page: &str) -> Vec<MetricRow<'_>> {
    let rows = page.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.splitn(4, " |").map(str::trim);
        let (name, kind, labels) = (cells.next()?.strip_suffix('`')?, cells.next()?, cells.next()?);
        let meaning = cells.next()?.trim_end_matches(" |");
        // The values of a label stand in parentheses after it.
        let mut depth = 0;
        let names = labels.split(|c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0 && c == ','
        });
        let labels = names.filter_map(|label| label.trim().strip_prefix('`')?.split('`').next()).collect();
        Some(MetricRow { name, kind, labels, meaning })
    });
    rows.collect()
}

/// Tells the recorder what each metric of the page means: the line `# HELP`.
pub(crate) fn describe() {
    for MetricRow { name, kind, meaning, .. } in metric_rows(METRICS_PAGE) {
        match kind {
            "counter" => describe_counter!(name, meaning),
            "gauge" => describe_gauge!(name, meaning),
            _ => describe_histogram!(name, meaning),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // shows: hazard PO14
    #[test]
    fn rows_of_the_page_have_kind_labels_and_meaning() {
        let rows = metric_rows(METRICS_PAGE);
        assert!(rows.len() > 100, "{}", rows.len());
        for row in &rows {
            assert!(matches!(row.kind, "counter" | "gauge" | "histogram") && !row.meaning.is_empty(), "{row:?}");
        }
        let hits = rows.iter().find(|row| row.name == "evenkeel_cache_hits_total");
        assert_eq!(hits.map(|row| row.labels.as_slice()), Some(&["cache", "tier", "state"][..]));
    }
}
