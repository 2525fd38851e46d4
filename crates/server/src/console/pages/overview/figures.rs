//! The figures of a topic and of all topics, as texts.

use crate::console::collector::{Snapshot, TopicFigures};
use crate::console::pages::number;
use crate::time::{span, text};
use evenkeel::queue::topic::TopicStats;

/// The figures, and their labels.
pub(crate) const FIGURES: [(&str, &str); 6] = [
    ("due", "Due"),
    ("late", "Late"),
    ("waiting", "Waiting"),
    ("running", "Running"),
    ("dead", "Dead"),
    ("rate", "Done/s"),
];

/// The key under which the stream sends a figure of a topic. Those of all topics have the name of the figure.
pub(crate) fn key(topic: &TopicFigures, figure: &str) -> String {
    format!("{figure} {}", topic.name)
}

pub(crate) fn value(topic: &TopicFigures, figure: &str) -> String {
    if figure == "state" { state(topic) } else { sum(std::slice::from_ref(topic), figure) }
}

/// A figure over all topics: the sum, and of lateness the maximum. Figures that were never read are not 0.
pub(super) fn of_all(snapshot: &Snapshot, figure: &str) -> String {
    if snapshot.at == 0 { "-".to_owned() } else { sum(&snapshot.topics, figure) }
}

fn sum(topics: &[TopicFigures], figure: &str) -> String {
    let sum = |of: fn(&TopicStats) -> u64| topics.iter().map(|topic| of(&topic.stats)).fold(0, u64::saturating_add);
    let late = |topic: &TopicFigures| if topic.stats.due() == 0 { 0 } else { topic.stats.late_ms() };
    match figure {
        "due" => number(sum(TopicStats::due)),
        "late" if sum(TopicStats::due) == 0 => "-".to_owned(),
        "late" => span(topics.iter().map(late).max().unwrap_or(0)),
        "waiting" => number(sum(TopicStats::waiting)),
        "running" => number(sum(TopicStats::running)),
        "dead" => number(sum(TopicStats::dead)),
        _ => {
            let rates = topics.iter().filter_map(|topic| topic.done_rate);
            rates.reduce(|sum, rate| sum + rate).map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1}"))
        }
    }
}

fn state(topic: &TopicFigures) -> String {
    let total = &topic.stats.total;
    match total.paused_until {
        Some(u64::MAX) => "‖ paused".to_owned(),
        Some(until) => format!("‖ paused until {}", text(until)),
        None if total.workers == 0 && total.ready > 0 => "✕ no consumer".to_owned(),
        None if total.dead > 0 => "! dead letters".to_owned(),
        None if total.leased > 0 => "› running".to_owned(),
        None => "✓ idle".to_owned(),
    }
}
