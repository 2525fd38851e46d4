//! What an operator does with a group: pause, resume, seek.

use super::At;
use crate::console::app::App;
use crate::console::kind::{INVALID_INPUT, NOT_CONFIRMED};
use crate::console::pages::layout::csrf;
use crate::console::pages::{answered, stream_path};
use crate::console::rights::{Action, Visitor};
use crate::console::source::stream_problem;
use crate::stream::summary;
use crate::time::read_time;
use axum::extract::{Path, State};
use axum::response::Redirect;
use evenkeel::clock::UnixMs;
use evenkeel::stream::admin::{LetterId, SeekTo};
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
pub(super) fn forms(visitor: &Visitor, path: &str, group: &str) -> Markup {
    html! {
        @if visitor.may(Action::Pause) {
            div.actions {
                form method="post" action={ (path) "/pause" } { (csrf(visitor)) button { "Pause until resumed" } }
                form method="post" action={ (path) "/resume" } { (csrf(visitor)) button { "Resume" } }
            }
        }
        @if visitor.may(Action::Seek) {
            details { summary { "Seek …" }
                p.hint { "Moves the group in all partitions (to an entry: in its partition only). Backward, entries are handled again; forward, unread entries are skipped. Pending entries are dropped." }
                form method="post" action={ (path) "/seek" } { (csrf(visitor))
                    div.field { label { "To " select name="to" {
                        option value="start" { "the first entry" } option value="end" { "the end" }
                        option value="time" { "a time" } option value="entry" { "an entry" }
                    } } }
                    div.field { label { "Time, for example 2026-11-21T18:00:00Z, or entry, for example 0:1700000000000-0 " input name="at" autocomplete="off"; } }
                    div.field { label { "Type the group's name: " strong { (group) } " " input name="confirm" required autocomplete="off"; } }
                    button.danger { "Seek" }
                }
            }
        }
    }
}

pub(in crate::console::pages) async fn pause(
    State(app): State<App>,
    visitor: Visitor,
    Path((name, group)): At,
) -> Result<Redirect, Problem> {
    let stream = app.source.stream(&name).await?;
    let pause = async {
        stream.pause(&group, None).await.map_err(stream_problem)?;
        Ok(format!("{group} is paused: its consumers get no entries until Resume."))
    };
    let answer = app.act(&visitor, "pause", json!({ "stream": name, "group": group }), pause).await?;
    app.collector.run_once().await;
    Ok(Redirect::to(&answered(&stream_path(&name), &answer)))
}

pub(in crate::console::pages) async fn resume(
    State(app): State<App>,
    visitor: Visitor,
    Path((name, group)): At,
) -> Result<Redirect, Problem> {
    let stream = app.source.stream(&name).await?;
    let resume = async {
        stream.resume(&group).await.map_err(stream_problem)?;
        Ok(format!("{group} is resumed."))
    };
    let answer = app.act(&visitor, "resume", json!({ "stream": name, "group": group }), resume).await?;
    app.collector.run_once().await;
    Ok(Redirect::to(&answered(&stream_path(&name), &answer)))
}

pub(in crate::console::pages) async fn seek(
    State(app): State<App>,
    visitor: Visitor,
    Path((name, group)): At,
    Form(form): Form<Seek>,
) -> Result<Redirect, Problem> {
    confirmed(&group, &form.confirm, "moved")?;
    let stream = app.source.stream(&name).await?;
    let to = goal(&form.to, &form.at)?;
    let seek = async {
        let previews = stream.preview_seek(&group, to).await.map_err(stream_problem)?;
        stream.seek(&group, to).await.map_err(stream_problem)?;
        Ok(format!("{group} is moved: {}.", summary(&previews)))
    };
    let target = json!({ "stream": name, "group": group, "to": form.to, "at": form.at });
    let answer = app.act(&visitor, "seek", target, seek).await?;
    app.collector.run_once().await;
    Ok(Redirect::to(&answered(&stream_path(&name), &answer)))
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
    let of_field = |field, detail: String| Problem::of_field(INVALID_INPUT, field, detail);
    match to {
        "start" => Ok(SeekTo::Start),
        "end" => Ok(SeekTo::End),
        "time" => read_time(at.trim()).map(|ms| SeekTo::Time(UnixMs(ms))).map_err(|error| of_field("at", error)),
        "entry" => {
            let entry = at.trim().parse::<LetterId>();
            let LetterId { partition, id } = entry
                .map_err(|_| of_field("at", "An entry is PARTITION:ID, for example 0:1700000000000-0.".to_owned()))?;
            Ok(SeekTo::Entry { partition, id })
        }
        _ => Err(of_field("to", "`to` must be start, end, time or entry. Nothing was changed.".to_owned())),
    }
}
