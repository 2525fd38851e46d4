//! Charts: inline SVG, drawn by the server, with the same values as a table.

use crate::console::collector::{Collector, POINTS, Series};
use crate::console::pages::number;
use maud::{Markup, html};
use serde::Deserialize;
use std::fmt::Write;

/// Units of a drawing, which is stretched to the width of its card.
const WIDTH: f32 = 360.0;
const HEIGHT: f32 = 80.0;
/// Points of the shorter range.
const FEW: usize = POINTS / 6;
/// Rows of the table of a chart.
const ROWS: usize = 12;

/// The time that the charts of a page show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Range {
    /// A sixth of the time that is kept.
    Short,
    #[default]
    Whole,
}

impl Range {
    fn points(self) -> usize {
        match self {
            Self::Short => FEW,
            Self::Whole => POINTS,
        }
    }

    /// The time in minutes.
    fn minutes(self, collector: &Collector) -> u64 {
        collector.step().as_secs() * self.points() as u64 / 60
    }
}

/// The charts of the overview, over all topics.
pub(super) const OF_ALL: &[(Series, &str)] = &[
    (Series::Done, "Done per second"),
    (Series::Late, "Oldest due job, seconds late"),
    (Series::Waiting, "Waiting jobs"),
];

/// The charts of a topic.
pub(crate) const OF_TOPIC: &[(Series, &str)] = &[
    (Series::Done, "Done per second"),
    (Series::Retried, "Retries per second"),
    (Series::Died, "New dead letters per second"),
    (Series::Waiting, "Waiting jobs"),
    (Series::Late, "Oldest due job, seconds late"),
    (Series::Handler, "Handler time, mean seconds"),
];

/// The charts of a topic, or of all, on the page at `path`.
pub(crate) fn charts(
    collector: &Collector,
    topic: Option<&str>,
    charts: &[(Series, &str)],
    (path, range): (&str, Range),
) -> Markup {
    let link = |of: Range, query: &str| {
        html! { a href={ (path) (query) } aria-current=[(of == range).then_some("true")] { "Last " (of.minutes(collector)) " min" } }
    };
    html! {
        section.graphs aria-label={ "The last " (range.minutes(collector)) " minutes" } {
            nav.actions aria-label="Time range" { (link(Range::Short, "?range=short")) (link(Range::Whole, "")) }
            div.charts { @for (series, title) in charts { (chart(collector, topic, (*series, title), range)) } }
        }
    }
}

fn chart(collector: &Collector, topic: Option<&str>, (series, title): (Series, &str), range: Range) -> Markup {
    let mut values = collector.values(topic, series);
    values.drain(..values.len().saturating_sub(range.points()));
    let known: Vec<f32> = values.iter().flatten().copied().collect();
    let top = round_up(known.iter().copied().fold(0.0, f32::max));
    let last = values.last().copied().flatten().or_else(|| known.last().copied());
    let minutes = range.minutes(collector);
    let row = range.points() / ROWS;
    let row_seconds = collector.step().as_secs() * row as u64;
    html! {
        figure.card.chart {
            figcaption { (title) " " strong { (last.map_or_else(|| "no value yet".to_owned(), short)) } }
            div.plot aria-hidden="true" {
                span.top-value { (short(top)) }
                span.middle-value { (short(top / 2.0)) }
                span.zero { "0" }
                svg viewBox="0 0 360 80" preserveAspectRatio="none" aria-hidden="true" {
                    path.grid d="M0 1H360M0 40H360M0 79H360" {}
                    path.line d=(path(&values, top, range.points())) {}
                    @if let Some(dot) = dot(&values, top) { path.dot d=(dot) {} }
                }
                span.start { (minutes) " min ago" }
                span.end { "now" }
            }
            details {
                summary { "Show as table" }
                table { thead { tr { th scope="col" { "Seconds ago" } th.number scope="col" { "Highest" } } } tbody {
                    @for (row, index) in values.rchunks(row).zip(0..) {
                        tr { td { (index * row_seconds) "-" ((index + 1) * row_seconds) }
                            td.number { (row.iter().flatten().copied().reduce(f32::max).map_or_else(|| "-".to_owned(), short)) } }
                    }
                } }
            }
        }
    }
}

/// The end of an axis: the next of 1, 2, 5, 10, .. that is not below the highest value.
fn round_up(highest: f32) -> f32 {
    if highest <= 0.0 {
        return 1.0;
    }
    let power = 10_f32.powf(highest.log10().floor());
    [1.0, 2.0, 5.0].map(|digit| digit * power).into_iter().find(|end| *end >= highest).unwrap_or(10.0 * power)
}

/// The path of a line that ends now: the last value is drawn until the right edge, so that it is seen however short a step is. A gap stays a gap.
fn path(values: &[Option<f32>], top: f32, points: usize) -> String {
    let mut path = String::new();
    let mut pen = 'M';
    let step = WIDTH / points as f32;
    let left = WIDTH - step * values.len() as f32;
    for (index, value) in values.iter().enumerate() {
        let Some(value) = value else {
            pen = 'M';
            continue;
        };
        let x = left + step * index as f32;
        let y = height(*value, top);
        // Writing into a string cannot fail. A single point needs a line to be seen.
        let _ = if pen == 'M' { write!(path, "M{x:.0} {y:.1}h1") } else { write!(path, "L{x:.0} {y:.1}") };
        pen = 'L';
    }
    if pen == 'L' {
        let _ = write!(path, "H{WIDTH:.0}");
    }
    path
}

/// A dot at the newest value, which is seen however short a step is. A gap has none.
fn dot(values: &[Option<f32>], top: f32) -> Option<String> {
    let newest = values.last().copied().flatten()?;
    Some(format!("M{WIDTH:.0} {:.1}h0", height(newest, top)))
}

/// Where a value is in the drawing.
fn height(value: f32, top: f32) -> f32 {
    HEIGHT - 1.0 - value / top * (HEIGHT - 2.0)
}

fn short(value: f32) -> String {
    if value >= 100.0 {
        let whole = format!("{value:.0}");
        return whole.parse::<u64>().map_or(whole, number);
    }
    let text = if value >= 1.0 { format!("{value:.1}") } else { format!("{value:.3}") };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::{dot, path, round_up, short};

    #[test]
    fn gaps_interrupt_the_line() {
        let drawn = path(&[Some(0.0), Some(2.0), None, Some(1.0)], 2.0, 360);
        assert_eq!(drawn, "M356 79.0h1L357 1.0M359 40.0h1H360");
        assert_eq!(path(&[], 1.0, 360), "");
        assert_eq!(path(&[Some(1.0), None], 1.0, 360), "M358 1.0h1");
    }

    /// The newest value of a chart with 60 points was a dot, a sixtieth of the width before "now".
    // shows: hazard CL23
    #[test]
    fn last_value_is_drawn_until_now() {
        assert_eq!(path(&[Some(1.0)], 1.0, 60), "M354 1.0h1H360");
        assert_eq!(path(&[Some(1.0), Some(0.5)], 1.0, 60), "M348 1.0h1L354 40.0H360");
        assert_eq!(dot(&[Some(1.0), Some(0.5)], 1.0).as_deref(), Some("M360 40.0h0"));
        assert_eq!((dot(&[Some(1.0), None], 1.0), dot(&[], 1.0)), (None, None));
    }

    #[test]
    fn axis_ends_at_a_round_number() {
        let ends = [0.0, 0.03, 0.5, 1.0, 1.1, 4.0, 70.0, 3_000.0].map(round_up).map(short);
        assert_eq!(ends, ["1", "0.05", "0.5", "1", "2", "5", "100", "5,000"]);
        assert_eq!([0.0, 0.000_4, 0.012, 12.34, 123.4].map(short), ["0", "0", "0.012", "12.3", "123"]);
    }
}
