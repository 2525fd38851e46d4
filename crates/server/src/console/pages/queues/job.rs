//! `/queues/{topic}/jobs/{id}`: one job, why it is where it is, and what can be done to it.

use super::queue::tabs;
use super::{letter, rows, why};
use crate::console::app::App;
use crate::console::on::{OnTopic, TopicNames};
use crate::console::pages::layout::{csrf, page};
use crate::console::pages::wrapping::wrapping;
use crate::console::pages::{Acted, number, processes, topic_path};
use crate::console::rights::{Action, Visitor};
use crate::console::source::queue_problem;
use crate::kind::{UNKNOWN_JOB, invalid};
use crate::operations;
use crate::output::{printable, truncated};
use crate::queue::jobs::allowed;
use crate::queue::jobs::names::class_text;
use crate::time::{distance, read_span, text};
use evenkeel::queue::topic::Topic;
use evenkeel::queue::{Found, Job, Note, State as JobState, When};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use web::{Form, Problem};

/// Characters of a note.
const NOTE_MAX: usize = 4_096;
/// Characters of a body on a page.
const SHOWN_MAX: usize = 65_536;

#[derive(Deserialize)]
pub(crate) struct Delay {
    delay: String,
}

pub(crate) async fn show(at: OnTopic) -> Result<Markup, Problem> {
    let (topic, id) = at.job().await?;
    let OnTopic { app, visitor, names: TopicNames { topic: name, .. } } = at;
    let found = topic.job(id).await.map_err(queue_problem)?;
    let found = found.ok_or_else(|| Problem::plain(UNKNOWN_JOB))?;
    let reason = why::sentence(&topic.why(id).await.map_err(queue_problem)?, &visitor);
    let (path, now) = (topic_path(&name), topic.now_ms());
    let reports = app.collector.reports().await;
    let running_in = processes::running_in(&reports, &name, &id.to_string()).or_else(|| match &found {
        Found::Live { job, .. } => app.api.holders.of(&name, id, job.fence),
        Found::Ended(_) => None,
    });
    let body = html! {
        h1 { (wrapping(&name)) " / " span.id { (id) } }
        (tabs(&path, "-"))
        div.notice { p { strong { "Why is it here? " } (reason) } }
        @match &found {
            Found::Ended(completion) => section.card { dl.facts {
                dt { "State" } dd { "ended: " (format!("{:?}", completion.end)) }
                dt { "Ended" } dd { (text(completion.ended_at)) " (" (distance(completion.ended_at, now)) ")" }
            } },
            Found::Live { state, score, job } => {
                (facts(*state, *score, job, now, running_in.as_deref()))
                (notes(&visitor, job))
                (history(&visitor, job))
                (body_of(&app, &visitor, &topic, &format!("{path}/jobs/{id}"), *state, job))
                @if *state == JobState::Dead { (letter::actions(&visitor, &format!("{path}/jobs/{id}"), &name)) }
                @else { (actions(&visitor, &format!("{path}/jobs/{id}"), *state)) }
            }
        }
    };
    Ok(page(&app, &visitor, &format!("Job of {name}"), &body))
}

/// `running_in` is the process that reports that it runs the job, or the worker that has claimed it over HTTP.
fn facts(state: JobState, score: u64, job: &Job, now: u64, running_in: Option<&str>) -> Markup {
    let moment = |ms: u64| format!("{} ({})", text(ms), distance(ms, now));
    let (word, of_score) = match state {
        JobState::Waiting(_) => ("! waiting", "Due"),
        JobState::Leased if job.started => ("› running", "Lease ends"),
        JobState::Leased => ("› claimed, start not yet reported", "Lease ends"),
        JobState::Dead => ("✕ dead", "Died"),
    };
    html! {
        section.card { dl.facts {
            dt { "State" } dd { (word) }
            dt { (of_score) } dd { (moment(score)) }
            dt { "Enqueued" } dd { (moment(job.enqueued_at)) }
            dt { "Priority" } dd { (format!("{:?}", job.spec.priority).to_lowercase()) }
            @if state == JobState::Dead { dt { "Failed attempts" } dd { (job.errors) " of " (allowed(job)) } }
            @else { dt { "Attempt" } dd { (u32::from(job.errors) + 1) " of " (allowed(job)) } }
            @if job.crashes > 0 { dt { "Crashes in a row" } dd { (job.crashes) } }
            @if state == JobState::Leased { dt { "Process" } dd { (running_in.unwrap_or("not reported")) " " a href="/workers" { "Workers" } } }
            @if let Some(expires) = job.expires_at { dt { "Expires unless started by" } dd { (moment(expires)) } }
            @for note in &job.spec.notes { @if let Note::Name(name) = note { dt { "Sender's id" } dd { (printable(name)) } } }
        } }
    }
}

/// What its sender and its handler noted, for those who see bodies.
fn notes(visitor: &Visitor, job: &Job) -> Markup {
    let text = |note: &Note| match note {
        Note::Progress(text) => Some(("Progress", printable(text))),
        Note::Headers(headers) => Some(("Headers", printable(headers))),
        Note::Trace(trace) => Some(("Trace", printable(trace))),
        _ => None,
    };
    let notes: Vec<(&str, String)> = job.spec.notes.iter().filter_map(text).collect();
    html! {
        @if visitor.sees_bodies() && !notes.is_empty() {
            section.card { dl.facts { @for (name, text) in &notes { dt { (name) } dd { (truncated(text, NOTE_MAX)) } } } }
        }
    }
}

fn history(visitor: &Visitor, job: &Job) -> Markup {
    html! {
        section.card { h2 { "History" }
            @if job.error_notes().next().is_none() { p.hint { "No attempt has failed." } }
            ol { @for note in &job.spec.notes { @match note {
                Note::Error(error) => li { (text(error.at)) " attempt " (error.attempt) " " (class_text(error.class)) ": " (rows::error_text(visitor, &error.text, error.class)) },
                Note::Redriven { at, errors, .. } => li { (text(*at)) " redriven after " (errors) " errors" },
                _ => {}
            } } }
        }
    }
}

/// The body as this visitor may see it, and the form that edits it.
fn body_of(app: &App, visitor: &Visitor, topic: &Topic, path: &str, state: JobState, job: &Job) -> Markup {
    let stored = rows::body(app, visitor, topic.name(), job);
    let text = pretty(&stored);
    let shown: String = text.chars().take(SHOWN_MAX).collect();
    html! {
        section.card { h2 { "Body " small { (number(job.spec.body.len() as u64)) " bytes" } }
            pre { (shown) }
            @if shown.len() < text.len() { p.hint { "Cut after " (number(SHOWN_MAX as u64)) " characters." } }
            (letter::editor(visitor, topic, path, state, &job.spec.body, &stored))
        }
    }
}

fn actions(visitor: &Visitor, path: &str, state: JobState) -> Markup {
    html! {
        @if matches!(state, JobState::Waiting(_)) && visitor.may(Action::Run) {
            section.card { h2 { "Actions" } div.forms {
                form method="post" action={ (path) "/run" } { (csrf(visitor)) button { "Run now" } }
                form method="post" action={ (path) "/reschedule" } { (csrf(visitor))
                    div.field { label { "Due in " small { "(90s, 5m, 2h, 1d)" } " " (visitor.typed(&format!("{path}/reschedule")).input("delay", true)) } }
                    button { "Reschedule" } }
                form method="post" action={ (path) "/revoke" } { (csrf(visitor)) button.danger { "Revoke: it never starts" } }
            } }
        }
    }
}

/// JSON with line breaks; other text as it is.
fn pretty(text: &str) -> String {
    // A number keeps its digits: a body is shown as it is unless parsing and printing it loses nothing.
    let parsed: Option<Value> = serde_json::from_str(text).ok();
    let is_exact = |value: &Value| {
        value.to_string().len() == text.chars().filter(|c| !c.is_whitespace()).map(char::len_utf8).sum::<usize>()
    };
    parsed.filter(is_exact).map_or_else(|| text.to_owned(), |value| format!("{value:#}"))
}

pub(crate) async fn run_now(at: OnTopic) -> Result<Acted, Problem> {
    let (topic, id) = at.job().await?;
    at.done(operations::run_now(&topic, &[id]).one(), "", &format!("{}/jobs/{id}", topic_path(&at.names.topic))).await
}

pub(crate) async fn reschedule(at: OnTopic, Form(delay): Form<Delay>) -> Result<Acted, Problem> {
    let delay = read_span(delay.delay.trim()).map_err(|reason| invalid("delay", reason))?;
    let (topic, id) = at.job().await?;
    at.done(
        operations::reschedule(&topic, id, When::In(delay)),
        "",
        &format!("{}/jobs/{id}", topic_path(&at.names.topic)),
    )
    .await
}

pub(crate) async fn revoke(at: OnTopic) -> Result<Acted, Problem> {
    let (topic, id) = at.job().await?;
    // A job without an id of its sender leaves no record: its page would not be found.
    at.done(operations::revoke(&topic, &[id]).one(), "", &topic_path(&at.names.topic)).await
}
