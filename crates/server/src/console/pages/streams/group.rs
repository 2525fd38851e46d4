//! What an operator does with a group: pause, resume, seek, unregister.

use super::OnStream;
use crate::console::pages::layout::csrf;
use crate::console::pages::pause::{Pause, pause_forms};
use crate::console::pages::{Acted, Confirmed, stream_path};
use crate::console::rights::{Action, Visitor};
use crate::console::source::stream_problem;
use crate::operations::seek::{self, goal};
use crate::operations::unregister::{self, effect};
use crate::operations::{self, Of};
use evenkeel::stream::admin::GroupState;
use maud::{Markup, html};
use serde::Deserialize;
use web::{Form, Problem};

#[derive(Deserialize)]
pub(crate) struct Seek {
    /// `start`, `end`, `time` or `entry`.
    #[serde(default)]
    to: String,
    /// The time, or the entry.
    #[serde(default)]
    at: String,
    /// The group's name, typed.
    #[serde(default)]
    confirm: String,
}

/// The forms of a group.
pub(super) fn forms(visitor: &Visitor, path: &str, state: &GroupState) -> Markup {
    let group = &state.name;
    html! {
        @if visitor.may(Action::Pause) {
            (pause_forms(visitor, path))
        }
        @if visitor.may(Action::Seek) {
            @let typed = visitor.typed(&format!("{path}/seek"));
            details open[typed.is_rejected()] { summary { "Seek …" }
                p.hint { "Moves the group in all partitions (to an entry: in its partition only). Backward, entries are handled again; forward, unread entries are skipped. Pending entries are dropped." }
                form method="post" action={ (path) "/seek" } { (csrf(visitor))
                    div.field { label { "To " select name="to" {
                        @for (value, label) in [("start", "the first entry"), ("end", "the end"), ("time", "a time"), ("entry", "an entry")] {
                            option value=(value) selected[typed.field("to") == Some(value)] { (label) }
                        }
                    } } }
                    div.field { label { "Time, for example 2026-11-21T18:00:00Z, or entry, for example 0:1700000000000-0 " (typed.input("at", false)) } }
                    div.field { label { "Type the group's name: " strong { (group) } " " (typed.input("confirm", true)) } }
                    button.danger { "Seek" }
                }
            }
        }
        @if visitor.may(Action::Unregister) {
            @let typed = visitor.typed(&format!("{path}/unregister"));
            details open[typed.is_rejected()] { summary { "Unregister …" }
                p.hint { "For a group that has no consumers any more: it no longer counts as missing. No undo: " (effect(state)) "." }
                form method="post" action={ (path) "/unregister" } { (csrf(visitor))
                    div.field { label { "Type the group's name: " strong { (group) } " " (typed.input("confirm", true)) } }
                    button.danger { "Unregister" }
                }
            }
        }
    }
}

pub(crate) async fn pause(at: OnStream, Form(form): Form<Pause>) -> Result<Acted, Problem> {
    let (now, stream) = (at.app.store_now(), at.stream().await?);
    let of = Of::Group(&stream, &at.names.group);
    at.done(operations::pause(of, form.end(now)?, now)?, "", &stream_path(&at.names.stream)).await
}

pub(crate) async fn resume(at: OnStream) -> Result<Acted, Problem> {
    at.done(operations::resume(Of::Group(&at.stream().await?, &at.names.group)), "", &stream_path(&at.names.stream))
        .await
}

pub(crate) async fn seek(at: OnStream, Form(form): Form<Seek>) -> Result<Acted, Problem> {
    let (stream, group, to) = (at.stream().await?, &at.names.group, goal(&form.to, &form.at)?);
    // A partition that Redis rejects is an error of the seek, which moves the others.
    let previews = stream.preview_seek(group, to).await.map_err(stream_problem)?.found;
    at.done(seek::seek(&stream, group, to, &previews), &form.confirm, &stream_path(&at.names.stream)).await
}

pub(crate) async fn unregister(at: OnStream, Form(form): Form<Confirmed>) -> Result<Acted, Problem> {
    let stream = at.stream().await?;
    let state = unregister::group(&stream, &at.names.group).await?;
    let unregister = unregister::unregister(&at.app.source.keel, &stream, &state);
    at.done(unregister, &form.confirm, &stream_path(&at.names.stream)).await
}
