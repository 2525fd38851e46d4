//! `/outbox`: what lags and what is parked, of the outbox and of the inbox; release and give up.

use super::layout::{csrf, page};
use super::{Acted, number};
use crate::console::app::App;
use crate::console::on::On;
use crate::console::rights::{Action, Visitor};
use crate::console::security::redact::HIDDEN;
use crate::console::source::{Parked as ParkedRows, sql_problem};
use crate::kind::{NEEDS_DATABASE, invalid};
use crate::operations::release::{Parked, release};
use crate::output::{printable, truncated};
use crate::time::{distance, span};
use maud::{Markup, html};
use serde::Deserialize;
use web::{Form, Problem, from_hex, hex};

/// What names a parked unit of work, a parked key, or a parked message; `confirm` is what was typed to give it up.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice {
    work: String,
    topic: String,
    key: String,
    group: String,
    message: String,
    confirm: String,
}

pub(super) async fn show(On { app, visitor, .. }: On<()>) -> Result<Markup, Problem> {
    let Some(database) = &app.source.database else {
        let body = html! { h1 { "Outbox" } section.card { div.empty {
            h3 { "This console has no database" }
            p { "Start it with " code { "--database URL" } " to see the outbox and the inbox." }
        } } };
        return Ok(page(&app, &visitor, "Outbox", &body));
    };
    let parked = database.parked(&app.source.keel).await.map_err(|error| sql_problem(&error))?;
    let now = app.collector.now();
    let body = html! {
        h1 { "Outbox" }
        (figures(&app))
        (units(&visitor, &parked, now))
        (keys(&visitor, &parked, now))
        (messages(&visitor, &parked, now))
    };
    Ok(page(&app, &visitor, "Outbox", &body))
}

fn figures(app: &App) -> Markup {
    let snapshot = app.collector.snapshot();
    let Some(stats) = &snapshot.outbox else {
        return html! { section.card { p.hint { "The figures were not read" @if let Some(reason) = &snapshot.outbox_failed { ": " (reason) } "." } } };
    };
    let age = |at: Option<u64>| at.map_or_else(|| "-".to_owned(), |at| span(stats.now_ms.saturating_sub(at)));
    html! {
        section.card { dl.facts {
            dt { "Units of work that wait" } dd { (number(stats.waiting)) }
            dt { "The oldest waits for" } dd { (age(stats.oldest_ms)) }
            dt { "Ordered messages that wait" } dd { (number(stats.messages)) " of " (number(stats.keys_waiting)) " keys" }
            dt { "The oldest waits for" } dd { (age(stats.oldest_message_ms)) }
            dt { "Parked units of work, keys" } dd { (number(stats.parked)) ", " (number(stats.keys_parked)) }
            dt { "Waiting for a sink" } dd { (number(stats.unrouted)) }
        } }
    }
}

fn units(visitor: &Visitor, parked: &ParkedRows, now: u64) -> Markup {
    html! {
        section.card { h2 { "Parked units of work" }
            @if parked.units.is_empty() { div.empty { h3 { "None" } p { "A unit of work is here after its effects have failed too often." } } }
            @for work in &parked.units {
                @let id = work.id.to_string();
                div.forms {
                    h3.id { (work.id) }
                    p { "Attempts: " (number(work.attempts)) ", begun " (distance(work.created_ms, now)) @if visitor.sees_bodies() { ": " (work.effects.iter().map(|effect| truncated(effect, 80)).collect::<Vec<_>>().join(", ")) } }
                    (error(visitor, work.error.as_deref()))
                    (decide(visitor, ("/outbox", "Resend", "its effects never happen"), &id[..8], &[("work", &id)]))
                }
            }
        }
    }
}

fn keys(visitor: &Visitor, parked: &ParkedRows, now: u64) -> Markup {
    html! {
        section.card { h2 { "Parked keys" }
            @if parked.keys.is_empty() { div.empty { h3 { "None" } p { "A key is here after its next message could not be sent; later ones wait behind it." } } }
            @for key in &parked.keys {
                div.forms {
                    h3 { (key.topic) " / " (if visitor.sees_bodies() { key.key.as_str() } else { HIDDEN }) }
                    p { "Message " (number(key.sent + 1)) " of " (number(key.last)) "; attempts: " (number(key.attempts)) @if let Some(at) = key.parked_ms { ", parked " (distance(at, now)) } }
                    (error(visitor, key.error.as_deref()))
                    (decide(visitor, ("/outbox", "Resend", "this message is never sent"), &key.topic, &[("topic", &key.topic), ("key", &key.key)]))
                }
            }
        }
    }
}

fn messages(visitor: &Visitor, parked: &ParkedRows, now: u64) -> Markup {
    html! {
        section.card { h2 { "Parked messages of the inbox" }
            @if parked.messages.is_empty() { div.empty { h3 { "None" } p { "A message is here if it was delivered so late that it is unknown whether it was processed." } } }
            @for message in &parked.messages {
                @let id = hex(&message.message);
                div.forms {
                    h3 { (message.group) " / " (printable(&message.message)) }
                    p { "Deliveries: " (number(message.met)) ", parked " (distance(message.parked_at.0, now)) }
                    (decide(visitor, ("/inbox", "Run at its next delivery", "it is never processed"), &message.group, &[("group", &message.group), ("message", &id)]))
                }
            }
        }
    }
}

fn error(visitor: &Visitor, error: Option<&str>) -> Markup {
    html! { @if let (true, Some(error)) = (visitor.sees_bodies(), error) { p { "Last error: " (truncated(error, 300)) } } }
}

/// The forms of one parked thing.
fn decide(
    visitor: &Visitor,
    (path, again, lost): (&str, &str, &str),
    confirm: &str,
    fields: &[(&str, &str)],
) -> Markup {
    let hidden =
        html! { (csrf(visitor)) @for (name, value) in fields { input type="hidden" name=(name) value=(value); } };
    let rejected = visitor.typed(&format!("{path}/skip"));
    let typed = fields.iter().fold(rejected, |typed, (name, value)| typed.with(name, value));
    html! {
        @if visitor.may(Action::Resend) { form method="post" action={ (path) "/resend" } { (hidden) button { (again) } } }
        @if visitor.may(Action::Skip) {
            details open[typed.is_rejected()] { summary { "Give up …" }
                form method="post" action={ (path) "/skip" } { (hidden)
                    div.field { label { "No undo: " (lost) ". Type " strong { (confirm) } " " (typed.input("confirm", true)) } }
                    button.danger { "Give up" } }
            }
        }
    }
}

pub(super) async fn resend(at: On<()>, Form(choice): Form<Choice>) -> Result<Acted, Problem> {
    choice.decide(&at, choice.of_outbox()?, false).await
}

pub(super) async fn skip(at: On<()>, Form(choice): Form<Choice>) -> Result<Acted, Problem> {
    choice.decide(&at, choice.of_outbox()?, true).await
}

pub(super) async fn run_message(at: On<()>, Form(choice): Form<Choice>) -> Result<Acted, Problem> {
    choice.decide(&at, Parked::Message { group: &choice.group, id: &choice.message()? }, false).await
}

pub(super) async fn skip_message(at: On<()>, Form(choice): Form<Choice>) -> Result<Acted, Problem> {
    choice.decide(&at, Parked::Message { group: &choice.group, id: &choice.message()? }, true).await
}

impl Choice {
    fn of_outbox(&self) -> Result<Parked<'_>, Problem> {
        if self.work.is_empty() {
            return Ok(Parked::Key { topic: &self.topic, key: &self.key });
        }
        let work = self.work.parse().map_err(|_| invalid("work", "This is not the id of a unit of work."))?;
        Ok(Parked::Work(work, &self.work))
    }

    /// The bytes of the message's name.
    fn message(&self) -> Result<Vec<u8>, Problem> {
        from_hex(&self.message).ok_or_else(|| invalid("message", "Use the form of the page."))
    }

    async fn decide(&self, at: &On<()>, parked: Parked<'_>, gives_up: bool) -> Result<Acted, Problem> {
        let database = at.app.source.database.as_ref().ok_or_else(|| Problem::plain(NEEDS_DATABASE))?;
        at.done(release(database, parked, gives_up), &self.confirm, "/outbox").await
    }
}
