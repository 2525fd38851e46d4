//! `/outbox`: what lags and what is parked, of the outbox and of the inbox; release and give up.

use super::layout::{csrf, page};
use super::{Acted, number};
use crate::console::app::App;
use crate::console::kind::{CHANGED_MEANWHILE, NEEDS_DATABASE, NOT_CONFIRMED, invalid};
use crate::console::on::On;
use crate::console::rights::{Action, Visitor};
use crate::console::security::redact::HIDDEN;
use crate::console::source::{Parked as ParkedRows, sql_problem};
use crate::database::{Database, on};
use crate::output::{printable, truncated};
use crate::time::{distance, span};
use evenkeel::sql::relay::operate::{Outbox, ParkedDecision};
use evenkeel::sql::{ParkedMessageDecision, WorkId};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};
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
    let (what, target) = choice.of_outbox()?;
    at.acted(("resend", target), "/outbox", Box::pin(release(&at.app, &what, ParkedDecision::Resend))).await
}

pub(super) async fn skip(at: On<()>, Form(choice): Form<Choice>) -> Result<Acted, Problem> {
    let (what, target) = choice.of_outbox()?;
    choice.check(match &what {
        OutboxItem::Work(_) => choice.work.get(..8).unwrap_or_default(),
        OutboxItem::Key(topic, _) => topic,
    })?;
    at.acted(("skip", target), "/outbox", Box::pin(release(&at.app, &what, ParkedDecision::Skip))).await
}

pub(super) async fn run_message(at: On<()>, Form(choice): Form<Choice>) -> Result<Acted, Problem> {
    let (message, target) = choice.of_inbox()?;
    let act = Box::pin(release_message(&at.app, &choice.group, &message, ParkedMessageDecision::Run));
    at.acted(("resend", target), "/outbox", act).await
}

pub(super) async fn skip_message(at: On<()>, Form(choice): Form<Choice>) -> Result<Acted, Problem> {
    let (message, target) = choice.of_inbox()?;
    choice.check(&choice.group)?;
    let act = Box::pin(release_message(&at.app, &choice.group, &message, ParkedMessageDecision::Skip));
    at.acted(("skip", target), "/outbox", act).await
}

/// A parked thing of the outbox.
enum OutboxItem {
    Work(WorkId),
    /// Topic and key.
    Key(String, String),
}

impl Choice {
    fn of_outbox(&self) -> Result<(OutboxItem, Value), Problem> {
        if self.work.is_empty() {
            without_nul("topic", &self.topic)?;
            without_nul("key", &self.key)?;
            let target = json!({ "topic": self.topic, "key": self.key });
            return Ok((OutboxItem::Key(self.topic.clone(), self.key.clone()), target));
        }
        let work = self.work.parse();
        let work = work.map_err(|_| invalid("work", "This is not the id of a unit of work."))?;
        Ok((OutboxItem::Work(work), json!({ "work": self.work })))
    }

    /// The bytes of the message's name.
    fn of_inbox(&self) -> Result<(Vec<u8>, Value), Problem> {
        let unreadable = || invalid("message", "Use the form of the page.");
        let message = from_hex(&self.message).ok_or_else(unreadable)?;
        without_nul("group", &self.group)?;
        Ok((message, json!({ "group": self.group, "message": self.message })))
    }

    fn check(&self, expected: &str) -> Result<(), Problem> {
        if self.confirm == expected && !expected.is_empty() {
            return Ok(());
        }
        let detail = format!("To give it up, type: {expected}. Nothing was changed.");
        Err(Problem::of_field(NOT_CONFIRMED, "confirm", detail))
    }
}

/// Some databases find nothing with such a text, others refuse the statement.
fn without_nul(field: &'static str, text: &str) -> Result<(), Problem> {
    if text.contains('\0') { Err(invalid(field, "No name has a NUL character.")) } else { Ok(()) }
}

fn database(app: &App) -> Result<&Database, Problem> {
    app.source.database.as_ref().ok_or_else(|| Problem::plain(NEEDS_DATABASE))
}

/// The database, unless its tables are those of another version.
async fn writable(app: &App) -> Result<&Database, Problem> {
    let database = database(app)?;
    database.check_schema().await.map_err(|error| sql_problem(&error))?;
    Ok(database)
}

async fn release(app: &App, what: &OutboxItem, how: ParkedDecision) -> Result<String, Problem> {
    let database = writable(app).await?;
    let released = match what {
        OutboxItem::Work(work) => on!(database, pool => Outbox::new(pool).release(*work, how).await),
        OutboxItem::Key(topic, key) => on!(database, pool => Outbox::new(pool).release_key(topic, key, how).await),
    };
    let done = match how {
        ParkedDecision::Resend => "Released: a relay tries it again now.",
        ParkedDecision::Skip => "Given up.",
    };
    answer(released.map_err(|error| sql_problem(&error))?, done)
}

async fn release_message(
    app: &App,
    group: &str,
    message: &[u8],
    how: ParkedMessageDecision,
) -> Result<String, Problem> {
    let released = on!(writable(app).await?, pool => app.source.keel.inbox(pool).release(group, message, how).await);
    let done = match how {
        ParkedMessageDecision::Run => "Released: the message is processed at its next delivery.",
        ParkedMessageDecision::Skip => "Given up: the message is never processed.",
    };
    answer(released.map_err(|error| sql_problem(&error))?, done)
}

fn answer(is_released: bool, done: &str) -> Result<String, Problem> {
    if is_released {
        Ok(done.to_owned())
    } else {
        Err(Problem::new(CHANGED_MEANWHILE, "It is no longer parked. Nothing was changed."))
    }
}
