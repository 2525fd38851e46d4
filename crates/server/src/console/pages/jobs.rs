//! `/queues/{topic}/jobs`: the jobs in one state, page by page, and the search by id.
//!
//! The list shows the oldest first, as the library lists them today; newest first belongs here once it can.

use super::layout::page;
use super::{queue::tabs, topic_path};
use crate::console::app::App;
use crate::console::kind::{INVALID_INPUT, UNKNOWN_JOB};
use crate::console::rights::Visitor;
use crate::console::source::queue_problem;
use crate::output::{printable, truncated};
use crate::queue::names::class_text;
use crate::time::distance;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use evenkeel::queue::topic::{JobState, Seen};
use evenkeel::queue::{ErrorClass, Job, JobId, Listed};
use maud::{Markup, html};
use serde::Deserialize;
use web::{Problem, Query};

/// Jobs of a page. Bodies are read whole.
const PAGE: usize = 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    #[serde(default)]
    state: String,
    after: Option<String>,
    /// An id, or the id that the sender chose.
    q: Option<String>,
}

pub(super) async fn show(
    State(app): State<App>,
    visitor: Visitor,
    Path(name): Path<String>,
    Query(search): Query<Search>,
) -> Result<Response, Problem> {
    let topic = app.source.topic(&name).await?;
    let path = topic_path(&name);
    if let Some(q) = search.q.as_deref().map(str::trim).filter(|q| !q.is_empty()) {
        let id = q.parse().unwrap_or_else(|_| JobId::named(q.as_bytes()));
        return match topic.job(id).await.map_err(queue_problem)? {
            Some(_) => Ok(Redirect::to(&format!("{path}/jobs/{id}")).into_response()),
            None => Err(Problem::new(
                UNKNOWN_JOB,
                format!("No job of {name} has the id {q:?}, or its completion record has expired."),
            )),
        };
    }
    let (place, below, time) = match search.state.as_str() {
        "" | "waiting" => (JobState::Waiting, "/jobs", "Due"),
        "running" => (JobState::Leased, "/jobs?state=running", "Lease ends"),
        "dead" => (JobState::Dead, "/jobs?state=dead", "Died"),
        _ => return Err(Problem::of_field(INVALID_INPUT, "state", "Use waiting, running or dead.")),
    };
    let found =
        topic.peek(place, search.after.as_deref().map(cursor).transpose()?, PAGE).await.map_err(queue_problem)?;
    let separator = if below.contains('?') { '&' } else { '?' };
    let next = found.next.map(|next| format!("{path}{below}{separator}after={}:{}", next.score, next.id));
    let body = html! {
        h1 { (name) }
        (tabs(&path, below))
        form.inline method="get" action={ (path) "/jobs" } role="search" {
            div.field { label for="q" { "Job id, or the sender's id" } input id="q" name="q" autocomplete="off"; }
            button { "Find" }
        }
        section.card {
            @if found.jobs.is_empty() { div.empty { h3 { "No jobs here" } p { code { "evenkeel queue add " (name) " '{}'" } " enqueues one." } } }
            @else { (table(&app, &visitor, &name, &found.jobs, time, topic.now_ms())) }
            @if let Some(next) = next { div.pages { a.button href=(next) { "Next " (PAGE) } } }
        }
    };
    Ok(page(&app, &visitor, &format!("Jobs of {name}"), None, &body).into_response())
}

/// Jobs as a table.
pub(super) fn table(app: &App, visitor: &Visitor, topic: &str, jobs: &[Seen], time: &str, now: u64) -> Markup {
    let path = topic_path(topic);
    html! {
        div.scroll { table.rows {
            thead { tr { th scope="col" { "Id" } th scope="col" { (time) } th scope="col" { "Errors" } th scope="col" { "Body" } th scope="col" { "Last error" } } }
            tbody { @for seen in jobs { tr {
                td.id { a href={ (path) "/jobs/" (seen.id) } { (seen.id) } }
                td data-label=(time) { (distance(seen.score, now)) }
                @match &seen.job {
                    Ok(job) => {
                        td data-label="Errors" { (job.errors) }
                        td data-label="Body" { (truncated(&body(app, visitor, topic, job), 64)) }
                        td data-label="Last error" { (job.error_notes().last().map(|error| truncated(&error_text(visitor, &error.text, error.class), 64)).unwrap_or_default()) }
                    }
                    Err(unreadable) => { td colspan="3" { (unreadable) } }
                }
            } } }
        } }
    }
}

/// A body as this visitor may see it.
pub(super) fn body(app: &App, visitor: &Visitor, topic: &str, job: &Job) -> String {
    if !visitor.sees_bodies() {
        return app.security.redaction.body(topic, &job.spec.body).to_string();
    }
    printable(&job.spec.body)
}

/// The text of an error as this visitor may see it: viewers see its class only.
pub(super) fn error_text(visitor: &Visitor, text: &[u8], class: ErrorClass) -> String {
    if visitor.sees_bodies() && !text.is_empty() { printable(text) } else { class_text(class).to_owned() }
}

fn cursor(text: &str) -> Result<Listed, Problem> {
    let parsed =
        text.split_once(':').and_then(|(score, id)| Some(Listed { score: score.parse().ok()?, id: id.parse().ok()? }));
    parsed.ok_or_else(|| Problem::of_field(INVALID_INPUT, "after", "Use the link of the page before."))
}
