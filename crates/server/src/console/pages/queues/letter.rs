//! What an operator does with one dead letter, and with the body of a job: redrive, delete, edit.

use crate::console::on::OnTopic;
use crate::console::pages::layout::{DELETE, confirm_form, csrf};
use crate::console::pages::{Acted, Confirmed, topic_path};
use crate::console::rights::{Action, Visitor};
use crate::kind::invalid;
use crate::operations::{self, digest};
use crate::output::JSON;
use bytes::Bytes;
use evenkeel::queue::State as JobState;
use evenkeel::queue::topic::Topic;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use web::{Form, Problem, hex};

/// A longer body cannot be edited in a form.
const EDITABLE_MAX: usize = 16 * 1024;

#[derive(Deserialize)]
pub(crate) struct Edit {
    body: String,
    /// The digest of the body that the form has shown.
    seen: String,
}

/// The form that edits the body of a waiting job or a dead letter. `text` is the body as it is stored: the order of its fields stays.
pub(crate) fn editor(visitor: &Visitor, topic: &Topic, path: &str, state: JobState, body: &[u8], text: &str) -> Markup {
    let typed = visitor.typed(&format!("{path}/edit"));
    let is_editable = topic.codec() == JSON && body.len() <= EDITABLE_MAX && state != JobState::Leased;
    html! {
        @if visitor.may(Action::Edit) && visitor.sees_bodies() && is_editable {
            details open[typed.is_rejected()] { summary { "Edit" }
                form method="post" action={ (path) "/edit" } { (csrf(visitor))
                    input type="hidden" name="seen" value=(digest(body));
                    div.field { label for="body" { "JSON " small { "as it will be stored, byte for byte" } } textarea id="body" name="body" rows="8" spellcheck="false" required autofocus[typed.is_rejected()] { (typed.field("body").unwrap_or(text)) } }
                    div.actions { button { "Store this body" } }
                }
            }
        }
    }
}

/// The forms of a dead letter.
pub(crate) fn actions(visitor: &Visitor, path: &str, topic: &str) -> Markup {
    html! {
        section.card { h2 { "Actions" } div.forms {
            @if visitor.may(Action::Redrive) {
                form method="post" action={ (path) "/redrive" } { (csrf(visitor)) button { "Redrive: it gets all its attempts again" } }
            }
            @if visitor.may(Action::Delete) {
                @let delete = format!("{path}/delete");
                (confirm_form(("Delete …", &delete), &csrf(visitor), ("topic", topic), visitor.typed(&delete), DELETE))
            }
            a href={ (topic_path(topic)) "/dead" } { "All dead letters by error" }
        } }
    }
}

pub(crate) async fn edit(at: OnTopic, Form(edit): Form<Edit>) -> Result<Acted, Problem> {
    let (topic, id) = at.job().await?;
    // A browser sends the line breaks of a text field as two characters.
    let text = edit.body.replace("\r\n", "\n");
    let text = text.trim();
    if let Err(error) = serde_json::from_str::<Value>(text) {
        return Err(invalid("body", format!("The body is not JSON: {error}. Nothing was changed.")));
    }
    let body = Bytes::copy_from_slice(text.as_bytes());
    at.done(
        operations::edit(&topic, id, Some(&edit.seen), body),
        "",
        &format!("{}/jobs/{id}", topic_path(&at.names.topic)),
    )
    .await
}

pub(crate) async fn redrive(at: OnTopic) -> Result<Acted, Problem> {
    let (topic, id) = at.job().await?;
    // A letter that has died again may be sent back again: each click has a name of its own.
    let name = format!("console {}", hex(&rand::random::<[u8; 8]>()));
    at.done(operations::dead::redrive(&topic, id, &name), "", &format!("{}/jobs/{id}", topic_path(&at.names.topic)))
        .await
}

pub(crate) async fn delete(at: OnTopic, Form(form): Form<Confirmed>) -> Result<Acted, Problem> {
    let (topic, id) = at.job().await?;
    at.done(
        operations::dead::delete(&topic, &[id]).one(),
        &form.confirm,
        &format!("{}/dead", topic_path(&at.names.topic)),
    )
    .await
}
