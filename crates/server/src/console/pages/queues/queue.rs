//! `/queues/{topic}`: the figures of a topic; pause and resume.

use crate::console::on::OnTopic;
use crate::console::pages::layout::page;
use crate::console::pages::overview::{FIGURES, chart, key, value};
use crate::console::pages::pause::{Pause, pause_forms};
use crate::console::pages::wrapping::wrapping;
use crate::console::pages::{Acted, number, topic_path};
use crate::console::rights::Action;
use crate::operations::{self, Of};
use maud::{Markup, html};
use serde::Deserialize;
use web::{Form, Problem, Query};

/// The part of the page's address after `?`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Shown {
    range: chart::Range,
}

pub(crate) async fn show(at: OnTopic, Query(shown): Query<Shown>) -> Result<Markup, Problem> {
    let topic = at.topic().await?;
    let snapshot = at.app.collector.snapshot();
    let figures = snapshot.topics.iter().find(|figures| figures.name == at.names.topic);
    let path = topic_path(&at.names.topic);
    let body = html! {
        h1 { (wrapping(&at.names.topic)) }
        (tabs(&path, ""))
        @if topic.needs_database() { div.notice.warn { p { "Rows in a SQL database decide about these jobs: start the console with --database to include them." } } }
        @if let Some(figures) = figures {
            section.card { dl.facts {
                dt { "State" } dd data-live=(key(figures, "state")) { (value(figures, "state")) }
                @for (figure, label) in FIGURES { dt { (label) } dd data-live=(key(figures, figure)) { (value(figures, figure)) } }
                dt { "Shards" } dd { (topic.shards()) }
                dt { "Consumers (per shard)" } dd { (number(figures.stats.total.workers)) }
                dt { "Done, retried, died" } dd { (number(figures.stats.total.totals.done)) ", " (number(figures.stats.total.totals.retried)) ", " (number(figures.stats.total.totals.died)) }
            } }
        } @else { p.hint { "The figures of this topic are not read yet; reload in a few seconds." } }
        (chart::charts(&at.app.collector, Some(&at.names.topic), chart::OF_TOPIC, (&path, shown.range)))
        @if at.visitor.may(Action::Pause) {
            section.card { h2 { "Pause" } p.hint { "Running jobs continue, and new jobs are accepted." }
                (pause_forms(&at.visitor, &path))
            }
        }
    };
    Ok(page(&at.app, &at.visitor, &at.names.topic, &body))
}

/// The links between the pages of a topic.
pub(crate) fn tabs(path: &str, current: &str) -> Markup {
    let tab = |below: &str, label: &str| {
        html! { a href={ (path) (below) } aria-current=[(below == current).then_some("page")] { (label) } }
    };
    html! { nav.actions aria-label="Topic" { (tab("", "Figures")) (tab("/jobs", "Waiting")) (tab("/jobs?state=running", "Running")) (tab("/dead", "Dead letters")) } }
}

pub(crate) async fn pause(at: OnTopic, Form(form): Form<Pause>) -> Result<Acted, Problem> {
    let topic = at.topic().await?;
    let now = topic.now_ms();
    at.done(operations::pause(Of::Topic(&topic), form.end(now)?, now)?, "", &topic_path(&at.names.topic)).await
}

pub(crate) async fn resume(at: OnTopic) -> Result<Acted, Problem> {
    at.done(operations::resume(Of::Topic(&at.topic().await?)), "", &topic_path(&at.names.topic)).await
}
