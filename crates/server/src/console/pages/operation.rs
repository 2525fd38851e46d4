//! `/operations`: redrives that this console has begun; how far one is, and Stop.

use super::layout::{csrf, page};
use super::queues::queue::Done;
use super::{answered, number, topic_path};
use crate::console::app::App;
use crate::console::kind::UNKNOWN_OPERATION;
use crate::console::on::On;
use crate::console::operations::{Operation, State};
use crate::console::rights::{Action, Visitor};
use axum::response::Redirect;
use maud::{Markup, html};
use serde_json::json;
use std::sync::Arc;
use web::{Problem, Query};

pub(super) async fn list(On { app, visitor, .. }: On<()>) -> Markup {
    let all = app.operations.all();
    let body = html! {
        h1 { "Operations" }
        section.card {
            @if all.is_empty() { div.empty { h3 { "No operation since this console has started" } p { "A redrive of more than 500 dead letters, or one with a rate, is here while it runs." } } }
            @else { div.scroll { table.rows {
                thead { tr { th scope="col" { "Topic" } th scope="col" { "Error" } th.number scope="col" { "Sent back" } th scope="col" { "State" } } }
                tbody { @for operation in &all { tr {
                    td { a href={ "/operations/" (operation.name) } { (operation.topic) } }
                    td data-label="Error" { (group(&visitor, operation)) }
                    td.number data-label="Sent back" { (progress(operation)) }
                    td data-label="State" { (state(operation)) }
                } } }
            } } }
        }
    };
    page(&app, &visitor, "Operations", None, &body)
}

pub(super) async fn show(
    On { app, visitor, names: name }: On<String>,
    Query(Done { done }): Query<Done>,
) -> Result<Markup, Problem> {
    let operation = find(&app, &name)?;
    let is_running = operation.state() == State::Running;
    let body = html! {
        h1 { "Redrive of " (operation.topic) }
        section.card {
            p { (group(&visitor, &operation)) }
            p.figure data-live={ "operation " (name) } { (progress(&operation)) }
            progress max=(operation.total) value=(operation.done()) aria-label="Sent back" {}
            p data-live={ "operation-state " (name) } { (state(&operation)) }
            div.actions {
                @if is_running && visitor.may(Action::Redrive) {
                    form method="post" action={ "/operations/" (name) "/stop" } { (csrf(&visitor)) button { "Stop: the rest stays dead" } }
                }
                a href={ (topic_path(&operation.topic)) "/dead" } { "Dead letters of " (operation.topic) }
            }
        }
    };
    Ok(page(&app, &visitor, "Redrive", done.as_deref(), &body))
}

pub(super) async fn stop(On { app, visitor, names: name }: On<String>) -> Result<Redirect, Problem> {
    let operation = find(&app, &name)?;
    let act = async {
        operation.stop();
        Ok("Stop was requested: the slice that is being sent back is the last one.".to_owned())
    };
    let answer = app.act(&visitor, "stop", json!({ "operation": name, "topic": operation.topic }), act).await?;
    Ok(Redirect::to(&answered(&format!("/operations/{name}"), &answer)))
}

fn find(app: &App, name: &str) -> Result<Arc<Operation>, Problem> {
    app.operations.get(name).ok_or_else(|| Problem::plain(UNKNOWN_OPERATION))
}

/// The group of errors that it sends back.
fn group(visitor: &Visitor, operation: &Operation) -> String {
    if visitor.sees_bodies() { operation.group.clone() } else { "one group of errors".to_owned() }
}

/// "600 of 1,180 sent back".
pub(super) fn progress(operation: &Operation) -> String {
    format!("{} of {} sent back", number(operation.done()), number(operation.total))
}

pub(super) fn state(operation: &Operation) -> String {
    match operation.state() {
        State::Running => "› running".to_owned(),
        State::Done => "✓ done".to_owned(),
        State::Stopped => "‖ stopped: the rest is dead".to_owned(),
        State::Failed(reason) => format!("✕ failed: {reason}"),
    }
}
