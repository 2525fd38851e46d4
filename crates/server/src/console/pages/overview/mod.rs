//! `/`: the figures, what is wrong, the charts, and the topics.

pub(super) mod chart;
mod figures;
pub(super) mod live;

pub(super) use figures::{FIGURES, key, value};

use super::layout::page;
use super::processes::workers;
use super::streams::list;
use super::wrapping::wrapping;
use super::{number, topic_path};
use crate::console::app::App;
use crate::console::collector::{Snapshot, TopicFigures, Trouble};
use crate::console::rights::Visitor;
use crate::time::span;
use axum::extract::State;
use maud::{Markup, html};
use serde::Deserialize;
use web::Query;

/// From this number of topics on they can be filtered.
const FILTERED_FROM: usize = 10;
/// Topics of the page. Further ones are found by their names.
const TOPICS_MAX: usize = 200;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice {
    /// Part of the name of a topic.
    q: String,
    range: chart::Range,
}

pub(super) async fn show(State(app): State<App>, visitor: Visitor, Query(choice): Query<Choice>) -> Markup {
    let (snapshot, reports) = (app.collector.snapshot(), app.collector.reports().await);
    let body = html! {
        div.row { h1 { "Overview" } p.hint { "Read " span data-live="age" { (age(&snapshot, app.collector.now())) } } }
        dl.tiles {
            @for (figure, label) in FIGURES { div { dt { (label) } dd data-live=(figure) { (figures::of_all(&snapshot, figure)) } } }
            div { dt { "Processes" } dd { a href="/workers" { (workers::summary(&reports)) } } }
        }
        (troubles(&snapshot))
        (chart::charts(&app.collector, None, chart::OF_ALL, ("/", choice.range)))
        (topics(&app, &snapshot, choice.q.trim()))
        @if !snapshot.streams.is_empty() { section.card { h2 { "Streams" } (list::table(&snapshot.streams)) } }
    };
    page(&app, &visitor, "Overview", &body)
}

/// The age of the figures. Figures that were never read are not 0.
pub(super) fn age(snapshot: &Snapshot, now: u64) -> String {
    match snapshot.at {
        0 => "never: waiting for Redis".to_owned(),
        at => format!("{} ago", span(now.saturating_sub(at))),
    }
}

fn troubles(snapshot: &Snapshot) -> Markup {
    html! {
        section.troubles aria-label="Problems" {
            @for Trouble { is_bad, text, since, names_duration, link, .. } in &snapshot.troubles {
                div.notice.bad[*is_bad].warn[!*is_bad] {
                    p { span.mark aria-hidden="true" { (if *is_bad { "✕" } else { "!" }) } " "
                        strong { (if *is_bad { "Problem: " } else { "Warning: " }) } (wrapping(text))
                        @if !names_duration { span.hint { " for " (since) } }
                        @if let Some((path, label)) = link { " " a href=(path) { (label) } }
                    }
                }
            }
            @if snapshot.troubles.is_empty() && snapshot.at > 0 { div.notice.good { p { "✓ No problem found." } } }
        }
    }
}

/// The topics, those with trouble first.
fn topics(app: &App, snapshot: &Snapshot, q: &str) -> Markup {
    let topics: Vec<&TopicFigures> =
        snapshot.worst_first().into_iter().filter(|topic| topic.name.contains(q)).collect();
    let left_out = topics.len().saturating_sub(TOPICS_MAX);
    html! {
        section.card {
            h2 { "Queues" }
            @if snapshot.topics.len() > FILTERED_FROM {
                form.inline method="get" action="/" role="search" {
                    div.field { label for="q" { "Name contains" } input id="q" name="q" value=(q) autocomplete="off"; }
                    button { "Filter" }
                }
            }
            @if snapshot.topics.is_empty() {
                div.empty {
                    h3 { (if snapshot.at == 0 { "Not read yet" } else { "No queue under this prefix" }) }
                    p { "The prefix is " code { (app.source.name()) } ". To see which prefixes have queues: " code { "evenkeel queue ls" } ", or " a href="/setup?scan=1" { "Find prefixes" } "." }
                }
            } @else if topics.is_empty() {
                div.empty { h3 { "No queue with this name" } p { a href="/" { "All queues" } } }
            } @else {
                div.scroll { table.rows.many { thead { tr {
                    th scope="col" { "Topic" } th scope="col" { "State" }
                    @for (_, label) in FIGURES { th.number scope="col" { (label) } }
                } } tbody { @for topic in topics.into_iter().take(TOPICS_MAX) { tr {
                    td { a href=(topic_path(&topic.name)) { (wrapping(&topic.name)) } }
                    td data-live=(key(topic, "state")) { (value(topic, "state")) }
                    @for (figure, label) in FIGURES { td.number data-label=(label) data-live=(key(topic, figure)) { (value(topic, figure)) } }
                } } } } }
                @if left_out > 0 { p.hint { (number(left_out as u64)) " further queues are not shown; filter by name." } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Snapshot, Trouble, troubles};

    #[test]
    fn problem_names_one_duration() {
        let trouble = |text: &str, names_duration| Trouble {
            id: String::new(),
            is_bad: false,
            text: text.to_owned(),
            since: "8.0 s".to_owned(),
            names_duration,
            link: None,
        };
        let found = vec![trouble("the oldest job waits 8.0 s", true), trouble("1 dead letter", false)];
        let page = troubles(&Snapshot { troubles: found, ..Snapshot::default() }).into_string();
        assert_eq!(page.matches("8.0 s").count(), 2, "{page}");
        assert!(page.contains("waits 8.0 s</p>"), "{page}");
        assert!(page.contains("1 dead letter<span class=\"hint\"> for 8.0 s</span>"), "{page}");
    }
}
