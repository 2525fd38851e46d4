//! `/queues/{topic}/jobs`: the jobs in one state, newest first and page by page, and the search.

use super::rows::{Row, table};
use super::{find, queue::tabs};
use crate::console::app::App;
use crate::console::on::{OnTopic, TopicNames};
use crate::console::pages::layout::page;
use crate::console::pages::wrapping::wrapping;
use crate::console::pages::{SEGMENT, number, topic_path};
use crate::console::rights::Visitor;
use crate::console::source::queue_problem;
use crate::kind::{NEEDS_DATABASE, invalid};
use crate::queue::jobs::names::listed;
use crate::queue::letters;
use crate::queue::search::Part;
use crate::time::distance;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use evenkeel::queue::topic::{JobState, Topic};
use evenkeel::queue::{JobId, Listed, QueueError};
use maud::{Markup, html};
use percent_encoding::utf8_percent_encode;
use serde::Deserialize;
use web::{Problem, Query};

/// Jobs of a page.
const PAGE: usize = 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    #[serde(default)]
    state: String,
    /// The last job of the page before.
    before: Option<String>,
    /// An id, the id that the sender chose, its unique key, or a text.
    q: Option<String>,
    /// The last job that the search has read; older ones are next.
    after: Option<String>,
    /// How many jobs the search has read before this page.
    #[serde(default)]
    read: u64,
    /// A group of dead letters, as their page names it.
    group: Option<String>,
}

/// A state with a list of its own.
struct Place {
    state: JobState,
    name: &'static str,
    /// What the time of its jobs means.
    time: &'static str,
}

const PLACES: [Place; 3] = [
    Place { state: JobState::Waiting, name: "waiting", time: "Due" },
    Place { state: JobState::Leased, name: "running", time: "Lease ends" },
    Place { state: JobState::Dead, name: "dead", time: "Died" },
];

pub(crate) async fn show(at: OnTopic, Query(search): Query<Search>) -> Result<Response, Problem> {
    let (topic, path) = (at.topic().await?, topic_path(&at.names.topic));
    let OnTopic { app, visitor, names: TopicNames { topic: name, .. } } = at;
    let state = if search.state.is_empty() { "waiting" } else { &search.state };
    let place = PLACES.iter().find(|place| place.name == state);
    let place = place.ok_or_else(|| invalid("state", "Use waiting, running or dead."))?;
    if let Some(group) = search.group.as_deref() {
        let before = search.before.as_deref().map(cursor).transpose()?;
        return of_group(&app, &visitor, &topic, group, before).await.map(IntoResponse::into_response);
    }
    let Some(q) = search.q.as_deref().map(str::trim).filter(|q| !q.is_empty()) else {
        return list(&app, &visitor, &topic, place, search.before.as_deref()).await.map(IntoResponse::into_response);
    };
    if q.chars().count() > find::TEXT_MAX {
        return Err(invalid("q", format!("Search for at most {} characters.", find::TEXT_MAX)));
    }
    if search.after.is_none()
        && let Some(id) = by_id(&topic, q).await?
    {
        return Ok(Redirect::to(&format!("{path}/jobs/{id}")).into_response());
    }
    let after = search.after.as_deref().map(cursor).transpose()?;
    let found = find::text(&app, &visitor, &topic, place.state, after, q).await?;
    let read = search.read.saturating_add(found.read as u64);
    let on = found.next.map(|next| {
        let q = utf8_percent_encode(q, SEGMENT);
        format!("{path}/jobs?state={}&q={q}&after={}:{}&read={read}", place.name, next.score, next.id)
    });
    let results = results(&app, &visitor, &topic, (place, read), &found, on.as_deref());
    let body = html! { h1 { (wrapping(&name)) } (tabs(&path, below(place))) (form(&path, place, q)) (results) };
    let mut response = page(&app, &visitor, &format!("Search in {name}"), &body).into_response();
    // A search goes on by itself until it has found something: the browser loads the next part.
    let next = on.filter(|_| found.found.is_empty()).and_then(|on| HeaderValue::try_from(format!("0; url={on}")).ok());
    response.headers_mut().extend(next.map(|next| (header::REFRESH, next)));
    Ok(response)
}

async fn list(
    app: &App,
    visitor: &Visitor,
    topic: &Topic,
    place: &Place,
    before: Option<&str>,
) -> Result<Markup, Problem> {
    let (name, path) = (topic.name(), topic_path(topic.name()));
    let found = topic.previews(place.state, before.map(cursor).transpose()?, PAGE).await.map_err(queue_problem)?;
    let rows: Vec<Row> = found.jobs.iter().map(|job| Row::of_preview(app, visitor, name, job)).collect();
    let first = format!("{path}/jobs?state={}", place.name);
    let next = found.next.map(|next| format!("{first}&before={}:{}", next.score, next.id));
    // A job due after now sorts before those that are due.
    let due = format!("{first}&before={}:{}", topic.now_ms(), "f".repeat(32));
    let body = html! {
        h1 { (wrapping(name)) }
        (tabs(&path, below(place)))
        (form(&path, place, ""))
        section.card {
            div.actions {
                @if place.state == JobState::Waiting { a href=(due) { "Due now" } a href=(first) { "All, last due first" } }
                @if before.is_some() && place.state != JobState::Waiting { a href=(first) { "Newest" } }
            }
            @if rows.is_empty() { (empty(place, name)) } @else { (table(name, &rows, place.time, topic.now_ms())) }
            @if let Some(next) = next { div.pages { a.button href=(next) { "Older " (PAGE) } } }
        }
    };
    Ok(page(app, visitor, &format!("Jobs of {name}"), &body))
}

/// The letters of a group, newest first and page by page.
async fn of_group(
    app: &App,
    visitor: &Visitor,
    topic: &Topic,
    group: &str,
    before: Option<Listed>,
) -> Result<Markup, Problem> {
    let (name, path) = (topic.name(), topic_path(topic.name()));
    let found = letters::of_group(topic, (visitor.naming(), group), before, PAGE).await.map_err(queue_problem)?;
    let rows: Vec<Row> = found.letters.iter().map(|letter| Row::of_preview(app, visitor, name, letter)).collect();
    let first = format!("{path}/jobs?state=dead&group={}", utf8_percent_encode(group, SEGMENT));
    let body = html! {
        h1 { (wrapping(name)) }
        (tabs(&path, "/dead"))
        section.card { h2 { (wrapping(group)) }
            @if rows.is_empty() { div.empty { h3 { "No letter of this error" @if found.next.is_some() { " here" } } p { (number(found.read as u64)) " dead letters were read." } } }
            @else { (table(name, &rows, "Died", topic.now_ms())) }
            div.pages {
                @if let Some(next) = found.next { a.button href={ (first) "&before=" (next.score) ":" (next.id) } { "Older" } }
                a href={ (path) "/dead" } { "Redrive or delete them: dead letters by error" }
            }
        }
    };
    Ok(page(app, visitor, &format!("Dead letters of {name}"), &body))
}

fn empty(place: &Place, topic: &str) -> Markup {
    html! {
        div.empty { h3 { "No " (place.name) " jobs here" }
            @match place.state {
                JobState::Waiting => p { code { "evenkeel queue add " (topic) " '{}'" } " enqueues one." },
                JobState::Leased => p { "A job is here while a consumer runs it." },
                JobState::Dead => p { "A job is here after its last attempt has failed." },
            }
        }
    }
}

fn form(path: &str, place: &Place, q: &str) -> Markup {
    html! {
        form.inline method="get" action={ (path) "/jobs" } role="search" {
            div.field { label for="q" { "Id, sender's id, unique key, or a text in " (place.name) " jobs" } input id="q" name="q" value=(q) maxlength=(find::TEXT_MAX) autocomplete="off"; }
            input type="hidden" name="state" value=(place.name);
            button { "Find" }
        }
    }
}

/// What a part of a search has found; `read` counts the jobs of all parts, and `on` leads to the next part.
fn results(
    app: &App,
    visitor: &Visitor,
    topic: &Topic,
    (place, read): (&Place, u64),
    search: &Part,
    on: Option<&str>,
) -> Markup {
    let (name, now) = (topic.name(), topic.now_ms());
    let rows: Vec<Row> = search.found.iter().map(|seen| Row::of_seen(app, visitor, name, seen)).collect();
    let snapshot = app.collector.snapshot();
    let stats = snapshot.topics.iter().find(|figures| figures.name == name).map(|figures| match place.state {
        JobState::Waiting => figures.stats.waiting(),
        JobState::Leased => figures.stats.running(),
        JobState::Dead => figures.stats.dead(),
    });
    let goes_on = on.is_some() && rows.is_empty();
    html! {
        section.card {
            p role="status" {
                "Searched " (number(read)) @if let Some(all) = stats { " of " (number(all)) } " " (place.name) " jobs"
                @if let Some((first, last)) = search.times { " (" (place.time.to_lowercase()) " " (distance(first, now)) " to " (distance(last, now)) ")" }
                ", " (number(rows.len() as u64)) " found." @if goes_on { " Searching on …" }
            }
            @if goes_on { div.pages { a.button href={ (topic_path(name)) "/jobs?state=" (place.name) } { "Stop" } } }
            @else if rows.is_empty() { div.empty { h3 { "Nothing found here" } p { "Ids are found in every state; a text only in the state that is searched." } } }
            @else { (table(name, &rows, place.time, now)) }
            @if let Some(on) = on.filter(|_| !goes_on) { div.pages { a.button href=(on) { "Search on" } } }
        }
    }
}

/// The job with this id, sender's id, or unique key.
async fn by_id(topic: &Topic, q: &str) -> Result<Option<JobId>, Problem> {
    let own = q.parse().ok();
    for id in own.into_iter().chain([JobId::named(q.as_bytes()), JobId::of_unique_key(q.as_bytes())]) {
        match topic.job(id).await {
            // The page of an unreadable job says so.
            Ok(Some(_)) | Err(QueueError::Unreadable(_)) => return Ok(Some(id)),
            Ok(None) => {}
            Err(QueueError::NeedsDatabase { .. }) => return Err(Problem::plain(NEEDS_DATABASE)),
            Err(error) => return Err(queue_problem(error)),
        }
    }
    Ok(None)
}

/// The tab of a place.
fn below(place: &Place) -> &'static str {
    match place.state {
        JobState::Waiting => "/jobs",
        JobState::Leased => "/jobs?state=running",
        JobState::Dead => "/dead",
    }
}

fn cursor(text: &str) -> Result<Listed, Problem> {
    listed(text).ok_or_else(|| invalid("after", "Use the link of the page before."))
}
