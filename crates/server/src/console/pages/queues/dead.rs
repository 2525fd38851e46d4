//! `/queues/{topic}/dead`: the dead letters in groups by error; redrive and delete a group.
//!
//! The page reads the newest 2,000, or on request 10,000, without their bodies, and says so. An action takes letters of its group among those
//! that the page has read, or on request all older ones, too; it is an [operation](crate::console::running).

use super::queue::tabs;
use super::rows::{Row, table};
use crate::console::on::{OnTopic, TopicNames};
use crate::console::pages::layout::{DELETE, confirm_form, csrf, page};
use crate::console::pages::wrapping::wrapping;
use crate::console::pages::{Acted, SEGMENT, number, topic_path};
use crate::console::rights::{Action, Typed, Visitor};
use crate::console::running::{Running, State};
use crate::console::source::queue_problem;
use crate::kind::invalid;
use crate::operations::group::{Group, What};
use crate::queue::jobs::names::listed;
use crate::queue::letters::{Bounds, Read, SHOWN_MAX, read};
use evenkeel::queue::Listed;
use maud::{Markup, html};
use percent_encoding::utf8_percent_encode;
use serde::Deserialize;
use std::time::Duration;
use web::{Form, Problem, Query, hex};

/// What the page reads without a request for more.
const READ: usize = 2_000;
/// How long a form waits for the end of its operation; then it leads to the operation's page.
const WAIT: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
pub(crate) struct Choice {
    /// The group, as the page names it.
    group: String,
    /// The oldest letter that the page has read.
    from: String,
    /// Only letters that died until this time, in ms since 1970: the newest letter of the page.
    until: u64,
    /// Older letters, too; empty: no.
    #[serde(default)]
    all: String,
    /// The name of the operation, drawn by the page: the same for a form that is sent again.
    #[serde(default)]
    name: String,
    /// Letters per second; empty: at once.
    #[serde(default)]
    rate: String,
    /// The topic's name, typed.
    #[serde(default)]
    confirm: String,
}

/// How many letters the page reads.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Shown {
    limit: Option<usize>,
}

pub(crate) async fn show(at: OnTopic, Query(Shown { limit }): Query<Shown>) -> Result<Markup, Problem> {
    let limit = checked(limit.unwrap_or(READ))?;
    let topic = at.topic().await?;
    let OnTopic { app, visitor, names: TopicNames { topic: name, .. } } = at;
    let read = read(&topic, visitor.naming(), limit).await.map_err(queue_problem)?;
    let mut groups: Vec<(&String, &usize)> = read.groups.iter().collect();
    groups.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let rows: Vec<Row> = read.first.iter().map(|letter| Row::of_preview(&app, &visitor, &name, letter)).collect();
    let path = topic_path(&name);
    let body = html! {
        h1 { (wrapping(&name)) }
        (tabs(&path, "/dead"))
        section.card {
            h2 { "Dead letters by error" }
            @if read.read == 0 { div.empty { h3 { "No dead letters" } p { "A job is here after its last attempt has failed." } } }
            @if read.is_cut { p.hint { "The newest " (number(read.read as u64)) " were read; there are more. "
                @if limit < SHOWN_MAX { a href={ (path) "/dead?limit=" (SHOWN_MAX) } { "Read " (number(SHOWN_MAX as u64)) } } } }
            @for (group, count) in groups { (group_row(&visitor, &name, (group, *count), &read)) }
        }
        @if !read.first.is_empty() {
            section.card { h2 { "The newest" } (table(&name, &rows, "Died", topic.now_ms()))
                div.pages { a href={ (path) "/jobs?state=dead" } { "All, page by page" } } }
        }
    };
    Ok(page(&app, &visitor, &format!("Dead letters of {name}"), &body))
}

fn group_row(visitor: &Visitor, topic: &str, (group, count): (&str, usize), read: &Read) -> Markup {
    let path = topic_path(topic);
    let (redrive, delete) = (format!("{path}/dead/redrive"), format!("{path}/dead/delete"));
    let typed = |action: &str| visitor.typed(action).with("group", group);
    let letters = format!("{path}/jobs?state=dead&group={}", utf8_percent_encode(group, SEGMENT));
    html! {
        div.forms.group {
            h3 { a href=(letters) { (group) } " " span.badge { (number(count as u64)) } }
            @if visitor.may(Action::Redrive) {
                form method="post" action=(redrive) { (fields(visitor, group, read, typed(&redrive)))
                    div.field.rate { label { "Per second " small { "(empty: at once)" } " " (typed(&redrive).input("rate", false)) } }
                    button { "Redrive " (number(count as u64)) } }
            }
            @if visitor.may(Action::Delete) {
                @let summary = format!("Delete {} …", number(count as u64));
                (confirm_form((&summary, &delete), &fields(visitor, group, read, typed(&delete)), ("topic", topic), typed(&delete), DELETE))
            }
        }
    }
}

/// The letters of a form: those of the group between the oldest and the newest that were read.
fn fields(visitor: &Visitor, group: &str, read: &Read, typed: Typed<'_>) -> Markup {
    let Bounds { from, until } = read.bounds;
    let from = from.map_or_else(String::new, |Listed { score, id }| format!("{score}:{id}"));
    html! {
        (csrf(visitor))
        input type="hidden" name="name" value=(hex(&rand::random::<[u8; 8]>()));
        input type="hidden" name="group" value=(group);
        input type="hidden" name="from" value=(from);
        input type="hidden" name="until" value=(until);
        @if read.is_cut {
            div.field { label { input type="checkbox" name="all" value="yes" checked[typed.field("all").is_some()]; " All older letters of this error, too" } }
        }
    }
}

fn checked(limit: usize) -> Result<usize, Problem> {
    if (1..=SHOWN_MAX).contains(&limit) {
        return Ok(limit);
    }
    Err(invalid("limit", format!("`limit` must be 1 to {SHOWN_MAX}. Nothing was changed.")))
}

pub(crate) async fn redrive(at: OnTopic, Form(choice): Form<Choice>) -> Result<Acted, Problem> {
    let rate = match choice.rate.trim() {
        "" => None,
        text => {
            Some(text.parse().map_err(|_| invalid("rate", "Use a whole number, or nothing. Nothing was changed."))?)
        }
    };
    choice.begin(&at, What::redrive(rate)?).await
}

pub(crate) async fn delete(at: OnTopic, Form(choice): Form<Choice>) -> Result<Acted, Problem> {
    choice.begin(&at, What::Delete).await
}

impl Choice {
    /// Begins the operation of the form, and leads to the letters once it has ended, or to its page.
    async fn begin(self, at: &OnTopic, what: What) -> Result<Acted, Problem> {
        let Self { group, from, until, all, name, confirm, .. } = self;
        if name.len() != 16 || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let detail = "The form has no name: reload the page and send it again. Nothing was changed.";
            return Err(invalid("name", detail));
        }
        let Some(from) = listed(&from) else {
            let detail = "The form does not say which letters the page has read: reload the page and send it again. Nothing was changed.";
            return Err(invalid("from", detail));
        };
        let bounds = Bounds { from: all.is_empty().then_some(from), until };
        let topic = at.topic().await?;
        let group = Group { name, topic, what, naming: at.visitor.naming(), group, bounds };
        let operation = at.app.operations.begin(&at.app, &at.visitor, group, &confirm)?.operation;
        let has_rate = matches!(what, What::Redrive { rate: Some(_) });
        let state = if has_rate { State::Running } else { operation.wait(WAIT).await };
        match state {
            State::Running => Ok(Acted::to(format!("/operations/{}", operation.group.name))),
            State::Failed(problem) => Err(problem),
            State::Done | State::Stopped => {
                Ok(Acted::new(format!("{}/dead", topic_path(&at.names.topic)), answer(&operation)))
            }
        }
    }
}

fn answer(operation: &Running) -> String {
    match operation.what() {
        What::Redrive { .. } => format!("{} redriven: they wait with all their attempts.", number(operation.done())),
        What::Delete => format!("{} deleted.", number(operation.done())),
    }
}
