//! The clicks of a link: a chart, drawn here as SVG, and the same numbers as a table.

use crate::domain::{ClickCounts, ClickStats, DayClicks};
use maud::{Markup, html};
use web::grouped;

/// The days of the chart.
pub(super) const DAYS: u32 = 30;

/// Size of the drawing, in its own units; the style sheet scales it to the card.
const WIDTH: u64 = 720;
const HEIGHT: u64 = 140;

/// Space for the lines below the bars and above the highest one.
const BELOW: u64 = 1;
const ABOVE: u64 = 1;

/// The part of a day's width that its bar does not take.
const GAP: u64 = 4;

/// The section of a link's page.
pub(super) fn section(stats: &ClickStats) -> Markup {
    html! {
        section.card.narrow.clicks aria-labelledby="clicks" {
            h2 id="clicks" { "Clicks" }
            p {
                strong { (grouped(stats.total.people)) } " " (noun(stats.total.people)) " in total, and "
                (grouped(stats.total.bots)) " by bots."
            }
            (chart(stats))
            p.legend aria-hidden="true" { span.people { "People" } span.bots { "Bots" } }
            details {
                summary { "Show the numbers" }
                (table(stats))
            }
            p.hint { "The last " (DAYS) " days, in UTC. New clicks show after a few seconds." }
        }
    }
}

fn chart(stats: &ClickStats) -> Markup {
    let highest = stats.days.iter().map(|day| day.counts.all()).max().unwrap_or(0);
    let (first, last) = (stats.days.first(), stats.days.last());
    let base = HEIGHT - BELOW;
    // The labels are outside of the drawing, which is scaled to the card: on a telephone they could not be read.
    html! {
        @if highest > 0 { p.scale aria-hidden="true" { (grouped(highest)) } }
        svg.chart viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-labelledby="chart-title chart-desc" {
            title id="chart-title" { "Clicks per day" }
            desc id="chart-desc" { (description(stats)) }
            line.axis x1="0" x2=(WIDTH) y1=(base) y2=(base) {}
            @if highest > 0 {
                line.grid x1="0" x2=(WIDTH) y1=(ABOVE) y2=(ABOVE) {}
            }
            @for (day, place) in stats.days.iter().zip(0..) { (bar(day, place, stats.days.len() as u64, highest)) }
        }
        @if let (Some(first), Some(last)) = (first, last) {
            p.scale aria-hidden="true" { span { (first.day) } span { (last.day) } }
        }
    }
}

/// A day: people at the bottom, bots on top of them.
fn bar(day: &DayClicks, place: u64, days: u64, highest: u64) -> Markup {
    let (base, room) = (HEIGHT - BELOW, HEIGHT - BELOW - ABOVE);
    let (left, right) = (place * WIDTH / days.max(1), (place + 1) * WIDTH / days.max(1));
    let width = (right - left).saturating_sub(GAP).max(1);
    let (people, all) = (height(day.counts.people, highest, room), height(day.counts.all(), highest, room));
    html! {
        g {
            title { (day.day) ": " (grouped(day.counts.people)) " " (noun(day.counts.people)) ", " (grouped(day.counts.bots)) " by bots" }
            rect.bots x=(left + GAP / 2) y=(base - all) width=(width) height=(all - people) {}
            rect.people x=(left + GAP / 2) y=(base - people) width=(width) height=(people) {}
        }
    }
}

/// The height of a number. One click is visible next to a million.
fn height(number: u64, highest: u64, room: u64) -> u64 {
    let scaled = u128::from(number) * u128::from(room) / u128::from(highest.max(1));
    u64::try_from(scaled).unwrap_or(room).max(u64::from(number > 0))
}

fn description(stats: &ClickStats) -> String {
    let ClickCounts { people, bots } = stats.days.iter().map(|day| day.counts).sum();
    let most = stats.days.iter().max_by_key(|day| day.counts.people).filter(|day| day.counts.people > 0);
    let most = most.map(|day| format!(" Most on {}: {}.", day.day, grouped(day.counts.people))).unwrap_or_default();
    format!("{} {} in {} days, and {} by bots.{most}", grouped(people), noun(people), stats.days.len(), grouped(bots))
}

/// The days that have clicks, newest first.
fn table(stats: &ClickStats) -> Markup {
    html! {
        table.numbers {
            caption { "Clicks per day, newest first. Days without clicks are omitted." }
            thead { tr { th scope="col" { "Day" } th.number scope="col" { "People" } th.number scope="col" { "Bots" } } }
            tbody {
                @for day in stats.days.iter().rev().filter(|day| day.counts.all() > 0) {
                    tr {
                        th scope="row" { (day.day) }
                        td.number { (grouped(day.counts.people)) }
                        td.number { (grouped(day.counts.bots)) }
                    }
                }
            }
        }
    }
}

fn noun(clicks: u64) -> &'static str {
    if clicks == 1 { "click" } else { "clicks" }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;
    use crate::domain::DayNumber;

    fn stats(counts: &[(u64, u64)]) -> ClickStats {
        let now = "2026-11-25T12:00:00Z".parse().unwrap();
        let today = DayNumber::of_ms(jiff::Timestamp::as_millisecond(now)).0;
        let days =
            counts.iter().zip(0..).map(|(&(people, bots), age)| (DayNumber(today - age), ClickCounts { people, bots }));
        let days: Vec<_> = days.collect();
        ClickStats::filled(ClickCounts { people: 1_234_567, bots: 1 }, &days, now, DAYS)
    }

    #[test]
    fn chart_has_a_bar_for_each_day_and_a_text_for_each_reader() {
        let shown = section(&stats(&[(10, 5), (0, 0), (1, 0)])).into_string();
        assert_eq!(shown.matches("<rect class=\"people\"").count(), 30);
        assert!(shown.contains("1,234,567</strong> clicks in total, and 1 by bots."), "{shown}");
        assert!(shown.contains("11 clicks in 30 days, and 5 by bots. Most on 2026-11-25: 10."), "{shown}");
        assert!(shown.contains("2026-11-23: 1 click, 0 by bots"), "{shown}");
        assert_eq!(shown.matches("<th scope=\"row\">").count(), 2, "days without clicks are not in the table");
    }

    #[test]
    fn chart_without_clicks_is_drawn() {
        let shown = section(&stats(&[])).into_string();
        assert!(shown.contains("0 clicks in 30 days, and 0 by bots.") && !shown.contains("class=\"grid\""), "{shown}");
    }

    #[test]
    fn bars_stay_within_the_drawing() {
        let room = HEIGHT - ABOVE - BELOW;
        assert_eq!(height(u64::MAX, u64::MAX, room), room);
        assert_eq!(height(1, u64::MAX, room), 1, "one click is visible");
        assert_eq!(height(0, 0, room), 0);
    }
}
