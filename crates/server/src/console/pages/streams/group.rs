//! What an operator does with a group: pause, resume, seek, unregister.

use super::OnGroup;
use crate::console::kind::{GROUP_IN_USE, NOT_CONFIRMED, UNKNOWN_GROUP, invalid};
use crate::console::pages::layout::csrf;
use crate::console::pages::pause::{Pause, pause_forms, paused};
use crate::console::pages::{Acted, Confirmed, stream_path};
use crate::console::rights::{Action, Visitor};
use crate::console::source::stream_problem;
use crate::stream::summary;
use crate::stream::unregister::{effect, find, in_use, left, remains};
use crate::time::read_time;
use evenkeel::clock::UnixMs;
use evenkeel::stream::admin::{GroupState, LetterId, SeekTo, StreamAdmin};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;
use web::{Form, Problem};

#[derive(Deserialize)]
pub(in crate::console::pages) struct Seek {
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

pub(in crate::console::pages) async fn pause(at: OnGroup, Form(form): Form<Pause>) -> Result<Acted, Problem> {
    let stream = at.admin().await?;
    let now = at.app.store_now();
    let until = form.end(now)?;
    let pause = async {
        stream.pause(&at.names.group, until.map(UnixMs)).await.map_err(stream_problem)?;
        Ok(format!("{}: {}", at.names.group, paused(until, now, "entries")))
    };
    at.acted(("pause", at.target(&[("until", json!(until))])), &stream_path(&at.names.stream), pause).await
}

pub(in crate::console::pages) async fn resume(at: OnGroup) -> Result<Acted, Problem> {
    let stream = at.admin().await?;
    let resume = async {
        stream.resume(&at.names.group).await.map_err(stream_problem)?;
        Ok(format!("{} is resumed.", at.names.group))
    };
    at.acted(("resume", at.target(&[])), &stream_path(&at.names.stream), resume).await
}

pub(in crate::console::pages) async fn seek(at: OnGroup, Form(form): Form<Seek>) -> Result<Acted, Problem> {
    let group = &at.names.group;
    confirmed(group, &form.confirm, "moved")?;
    let stream = at.admin().await?;
    let to = goal(&form.to, &form.at)?;
    let seek = async {
        // A partition that Redis rejects is an error of the seek, which moves the others.
        let previews = stream.preview_seek(group, to).await.map_err(stream_problem)?.found;
        stream.seek(group, to).await.map_err(stream_problem)?;
        Ok(format!("{group} is moved: {}.", summary(&previews)))
    };
    let details = [("to", json!(form.to)), ("at", json!(form.at))];
    at.acted(("seek", at.target(&details)), &stream_path(&at.names.stream), seek).await
}

pub(in crate::console::pages) async fn unregister(at: OnGroup, Form(form): Form<Confirmed>) -> Result<Acted, Problem> {
    confirmed(&at.names.group, &form.confirm, "changed")?;
    let stream = at.admin().await?;
    let unregister = async {
        let left = forget(&stream, &at.names.group).await?;
        let remains = remains(&at.app.source.keel, &at.names.stream, &at.names.group, &left);
        Ok(format!("{} is unregistered{remains}.", at.names.group))
    };
    at.acted(("unregister", at.target(&[])), &stream_path(&at.names.stream), unregister).await
}

/// Unregisters a group that has no consumers; returns the partitions in which Redis still has it.
pub(in crate::console) async fn forget(stream: &StreamAdmin, group: &str) -> Result<Vec<u16>, Problem> {
    let Some(state) = find(stream, group).await.map_err(stream_problem)? else {
        return Err(Problem::plain(UNKNOWN_GROUP));
    };
    if let Some(reason) = in_use(&state) {
        return Err(Problem::new(GROUP_IN_USE, format!("{reason}. Nothing was changed.")));
    }
    stream.unregister(group).await.map_err(stream_problem)?;
    Ok(left(&state))
}

/// Refuses an action that needs the typed name of the group.
pub(in crate::console) fn confirmed(group: &str, typed: &str, done: &str) -> Result<(), Problem> {
    if typed == group {
        return Ok(());
    }
    let detail = format!("To confirm, type the group's name: {group}. Nothing was {done}.");
    Err(Problem::of_field(NOT_CONFIRMED, "confirm", detail))
}

/// Where a seek goes.
pub(in crate::console) fn goal(to: &str, at: &str) -> Result<SeekTo, Problem> {
    match to {
        "start" => Ok(SeekTo::Start),
        "end" => Ok(SeekTo::End),
        "time" => read_time(at.trim()).map(|ms| SeekTo::Time(UnixMs(ms))).map_err(|error| invalid("at", error)),
        "entry" => {
            let form = "An entry is PARTITION:ID, for example 0:1700000000000-0.";
            let LetterId { partition, id } = at.trim().parse().map_err(|_| invalid("at", form))?;
            Ok(SeekTo::Entry { partition, id })
        }
        _ => Err(invalid("to", "`to` must be start, end, time or entry. Nothing was changed.")),
    }
}
