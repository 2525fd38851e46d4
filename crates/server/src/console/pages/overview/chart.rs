//! Charts: inline SVG, drawn by the server, with the same values as a table.

use crate::console::collector::{Collector, Series};
use maud::{Markup, html};
use std::fmt::Write;

const WIDTH: f32 = 360.0;
const HEIGHT: f32 = 80.0;
/// Points of a chart, and those that one row of its table sums up.
const POINTS: u32 = 360;
const ROW: u32 = 30;

/// The charts of a topic, or of all.
pub(in crate::console::pages) fn charts(collector: &Collector, topic: Option<&str>) -> Markup {
    html! {
        section.charts aria-label={ "The last " (minutes(collector, POINTS)) " minutes" } {
            (chart(collector, topic, Series::Done, "Done per second"))
            (chart(collector, topic, Series::Late, "Oldest due job, seconds late"))
            (chart(collector, topic, Series::Waiting, "Waiting jobs"))
        }
    }
}

fn chart(collector: &Collector, topic: Option<&str>, series: Series, title: &str) -> Markup {
    let values = collector.values(topic, series);
    let known: Vec<f32> = values.iter().flatten().copied().collect();
    let highest = known.iter().copied().fold(0.0, f32::max);
    let last = values.last().copied().flatten();
    let row_minutes = minutes(collector, ROW);
    html! {
        figure.card.chart {
            figcaption { (title) " " strong { (last.map_or_else(|| "no value yet".to_owned(), short)) } @if !known.is_empty() { span.hint { " highest " (short(highest)) } } }
            svg viewBox="0 0 360 80" preserveAspectRatio="none" aria-hidden="true" {
                path.line d=(path(&values, highest)) {}
            }
            details {
                summary { "Show as table" }
                table { thead { tr { th scope="col" { "Minutes ago" } th scope="col" { "Highest" } } } tbody {
                    @for (row, index) in values.rchunks(ROW as usize).zip(0..) {
                        tr { td { (index * row_minutes) "-" ((index + 1) * row_minutes) }
                            td { (row.iter().flatten().copied().reduce(f32::max).map_or_else(|| "-".to_owned(), short)) } }
                    }
                } }
            }
        }
    }
}

/// The time of this many points, in minutes.
fn minutes(collector: &Collector, points: u32) -> u64 {
    (collector.step() * points).as_secs() / 60
}

/// The path of a line; a gap stays a gap.
fn path(values: &[Option<f32>], highest: f32) -> String {
    let mut path = String::new();
    let mut pen = 'M';
    let left = WIDTH - f32::from(u16::try_from(values.len()).unwrap_or(360));
    for (index, value) in values.iter().enumerate() {
        let Some(value) = value else {
            pen = 'M';
            continue;
        };
        let x = left + f32::from(u16::try_from(index).unwrap_or(0));
        let y = HEIGHT - 2.0 - if highest > 0.0 { value / highest * (HEIGHT - 4.0) } else { 0.0 };
        // Writing into a string cannot fail. A single point needs a line to be seen.
        let _ = if pen == 'M' { write!(path, "M{x:.0} {y:.1}h1") } else { write!(path, "L{x:.0} {y:.1}") };
        pen = 'L';
    }
    path
}

fn short(value: f32) -> String {
    if value >= 100.0 || value == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn gaps_interrupt_the_line() {
        let drawn = path(&[Some(0.0), Some(2.0), None, Some(1.0)], 2.0);
        assert_eq!(drawn, "M356 78.0h1L357 2.0M359 40.0h1");
        assert_eq!(path(&[], 0.0), "");
    }
}
