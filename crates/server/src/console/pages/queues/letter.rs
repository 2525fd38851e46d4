//! What an operator does with one dead letter, and with the body of a job: redrive, delete, edit.

use super::on_topic::OnTopic;
use crate::console::kind::{CHANGED_MEANWHILE, UNKNOWN_JOB, invalid};
use crate::console::pages::layout::{csrf, delete_form};
use crate::console::pages::{Acted, Confirmed, topic_path};
use crate::console::rights::{Action, Visitor};
use crate::console::source::{no_room, queue_problem, shards_problem};
use crate::output::JSON;
use bytes::Bytes;
use evenkeel::queue::topic::{Amended, Topic};
use evenkeel::queue::{Found, JobId, Rescheduled, State as JobState};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use web::{Form, Problem, hex};

/// A longer body cannot be edited in a form.
const EDITABLE_MAX: usize = 16 * 1024;

#[derive(Deserialize)]
pub(in crate::console::pages) struct Edit {
    body: String,
    /// The digest of the body that the form has shown.
    seen: String,
}

/// The form that edits the body of a waiting job or a dead letter. `text` is the body as it is stored: the order of its fields stays.
pub(in crate::console::pages) fn editor(
    visitor: &Visitor,
    topic: &Topic,
    path: &str,
    state: JobState,
    body: &[u8],
    text: &str,
) -> Markup {
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
pub(in crate::console::pages) fn actions(visitor: &Visitor, path: &str, topic: &str) -> Markup {
    html! {
        section.card { h2 { "Actions" } div.forms {
            @if visitor.may(Action::Redrive) {
                form method="post" action={ (path) "/redrive" } { (csrf(visitor)) button { "Redrive: it gets all its attempts again" } }
            }
            @if visitor.may(Action::Delete) {
                @let delete = format!("{path}/delete");
                (delete_form(("Delete …", &delete), &csrf(visitor), ("topic", topic), visitor.typed(&delete)))
            }
            a href={ (topic_path(topic)) "/dead" } { "All dead letters by error" }
        } }
    }
}

pub(in crate::console::pages) async fn edit(at: OnTopic, Form(edit): Form<Edit>) -> Result<Acted, Problem> {
    let (topic, id) = at.job().await?;
    // A browser sends the line breaks of a text field as two characters.
    let text = edit.body.replace("\r\n", "\n");
    let text = text.trim();
    if let Err(error) = serde_json::from_str::<Value>(text) {
        return Err(invalid("body", format!("The body is not JSON: {error}. Nothing was changed.")));
    }
    let target = json!({ "topic": at.names.topic, "job": id.to_string(), "before": edit.seen, "after": digest(text.as_bytes()) });
    let act = store(&topic, id, &edit.seen, Bytes::copy_from_slice(text.as_bytes()));
    at.acted(("edit", target), &format!("{}/jobs/{id}", at.path()), act).await
}

/// Replaces the body if it is still the one that was shown.
async fn store(topic: &Topic, id: JobId, seen: &str, body: Bytes) -> Result<String, Problem> {
    let changed = |what: &str| Err(Problem::new(CHANGED_MEANWHILE, format!("{what} Nothing was changed.")));
    let found = topic.job(id).await.map_err(queue_problem)?;
    let Some(Found::Live { state, job, .. }) = found else { return Err(Problem::plain(UNKNOWN_JOB)) };
    if digest(&job.spec.body) != seen {
        return changed("The body was edited by another visitor since this page was loaded.");
    }
    match state {
        JobState::Dead => match topic.amend(id, job.spec.body, body).await.map_err(queue_problem)? {
            Amended::Changed => Ok("The new body is stored. The job is still dead: redrive it to run it.".to_owned()),
            Amended::Full => Err(no_room()),
            other => changed(&format!("The job is not as it was shown ({other:?}).")),
        },
        JobState::Waiting(_) => match topic.edit(id, body).await.map_err(queue_problem)? {
            Rescheduled::Changed => Ok("The new body is stored.".to_owned()),
            Rescheduled::ChangedAfterLeaseExpiry => Ok(
                "The new body is stored; a worker whose lease has expired may have started the job with the old one."
                    .to_owned(),
            ),
            Rescheduled::Full => Err(no_room()),
            other => changed(&format!("The job is not waiting ({other:?}).")),
        },
        JobState::Leased => changed("The job is running."),
    }
}

pub(in crate::console::pages) async fn redrive(at: OnTopic) -> Result<Acted, Problem> {
    let (topic, id) = at.job().await?;
    let act = async {
        // A letter that has died again may be sent back again: each click has a name of its own.
        let operation = format!("console {}", hex(&rand::random::<[u8; 8]>()));
        let report = topic.redrive(&operation).only([id]).run().await.map_err(shards_problem)?;
        match report.taken {
            0 => Err(Problem::new(CHANGED_MEANWHILE, "The job is no longer a dead letter. Nothing was changed.")),
            _ => Ok("Redriven: the job waits with all its attempts.".to_owned()),
        }
    };
    let target = json!({ "topic": at.names.topic, "job": id.to_string() });
    at.acted(("redrive", target), &format!("{}/jobs/{id}", at.path()), act).await
}

pub(in crate::console::pages) async fn delete(at: OnTopic, Form(form): Form<Confirmed>) -> Result<Acted, Problem> {
    at.confirmed(&form.confirm)?;
    let (topic, id) = at.job().await?;
    let act = async {
        match topic.delete_dead(&[id]).await.map_err(queue_problem)?.first() {
            Some(true) => Ok("Deleted.".to_owned()),
            _ => Err(Problem::new(CHANGED_MEANWHILE, "The job is no longer a dead letter. Nothing was deleted.")),
        }
    };
    let target = json!({ "topic": at.names.topic, "job": id.to_string() });
    at.acted(("delete", target), &format!("{}/dead", at.path()), act).await
}

fn digest(body: &[u8]) -> String {
    hex(&Sha256::digest(body))
}
