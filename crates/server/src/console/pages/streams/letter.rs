//! `/streams/{stream}/groups/{group}/dead/{id}`: one dead letter with its value and its errors; replay or delete it.

use super::{OnStream, key, value};
use crate::console::pages::layout::{DELETE, confirm_form, csrf, page};
use crate::console::pages::{Acted, Confirmed};
use crate::console::rights::{Action, Visitor};
use crate::console::source::stream_problem;
use crate::kind::UNKNOWN_LETTER;
use crate::operations::stream_dead;
use crate::output::printable;
use crate::stream::kind;
use crate::time::text;
use evenkeel::stream::EntryId;
use evenkeel::stream::admin::{DeadLetter, DeadLetters, LetterId};
use maud::{Markup, html};
use serde_json::Value;
use web::{Form, Problem};

pub(crate) async fn show(at: OnStream) -> Result<Markup, Problem> {
    let (dead, id, path) = (at.letters().await?, at.letter()?, at.names.path());
    let letter = find(&dead, id).await?;
    let OnStream { app, visitor, names } = at;
    let shown = value(&app, &visitor, &names.stream, &letter);
    let pretty = serde_json::from_str::<Value>(&shown).ok().and_then(|value| serde_json::to_string_pretty(&value).ok());
    let body = html! {
        h1 { "Dead letter " (id) }
        p { a href={ (path) "/dead" } { "Dead letters of " (names.group) } }
        section.card {
            dl.facts {
                dt { "Key" } dd { (key(&visitor, &letter.key)) }
                dt { "Died" } dd { (text(letter.id.ms)) }
                dt { "Entry" } dd.id { (letter.origin) }
                @if letter.parks_key { dt { "Key parked" } dd { "later entries of its key are dead letters, too, until all of them are deleted" } }
            }
            h2 { "Value" }
            pre { (pretty.unwrap_or(shown)) }
            (errors(&visitor, &letter))
        }
        section.card { h2 { "Actions" } div.forms {
            @if visitor.may(Action::Redrive) && !letter.parks_key {
                form method="post" action={ (path) "/dead/" (id) "/replay" } { (csrf(&visitor)) button { "Replay: it gets all its attempts again" } }
            }
            @if visitor.may(Action::Delete) {
                @let delete = format!("{path}/dead/{id}/delete");
                (confirm_form(("Delete …", &delete), &csrf(&visitor), ("group", &names.group), visitor.typed(&delete), DELETE))
            }
        } }
    };
    Ok(page(&app, &visitor, "Dead letter", &body))
}

fn errors(visitor: &Visitor, letter: &DeadLetter) -> Markup {
    let notes = letter.tries.as_ref().map(|tries| tries.notes.as_slice()).unwrap_or_default();
    html! {
        @if !notes.is_empty() {
            h2 { "Errors" }
            ul { @for note in notes { li {
                (text(note.at)) " " (kind(note.kind))
                @if visitor.sees_bodies() && !note.text.is_empty() { ": " (printable(&note.text)) }
            } } }
        }
    }
}

/// The letter of this id.
async fn find(dead: &DeadLetters, id: LetterId) -> Result<DeadLetter, Problem> {
    let EntryId { ms, sequence } = id.id;
    // The last possible id before it.
    let after = match (ms, sequence) {
        (0, 0) => return Err(Problem::plain(UNKNOWN_LETTER)),
        (ms, 0) => EntryId { ms: ms - 1, sequence: u64::MAX >> 11 },
        (ms, sequence) => EntryId { ms, sequence: sequence - 1 },
    };
    let page = dead.list(id.partition, after, 1).await.map_err(stream_problem)?;
    page.into_iter().find(|letter| letter.id == id.id).ok_or_else(|| Problem::plain(UNKNOWN_LETTER))
}

pub(crate) async fn replay(at: OnStream) -> Result<Acted, Problem> {
    let (dead, ids) = (at.letters().await?, [at.letter()?]);
    let replay = stream_dead::replay(&dead, at.names.group(), &ids, false).one();
    at.done(replay, "", &format!("{}/dead", at.names.path())).await
}

pub(crate) async fn delete(at: OnStream, Form(form): Form<Confirmed>) -> Result<Acted, Problem> {
    let (dead, ids) = (at.letters().await?, [at.letter()?]);
    let delete = stream_dead::delete(&dead, at.names.group(), &ids).one();
    at.done(delete, &form.confirm, &format!("{}/dead", at.names.path())).await
}
