//! `/operations`: redrives and deletions that this console has begun; how far one is, and Stop.

use super::layout::{csrf, page};
use super::wrapping::wrapping;
use super::{Acted, number, topic_path};
use crate::console::app::App;
use crate::console::on::On;
use crate::console::rights::{Action, Visitor};
use crate::console::running::{Running, State};
use crate::kind::UNKNOWN_OPERATION;
use crate::operations::group::{self, What};
use maud::{Markup, html};
use std::sync::Arc;
use web::Problem;

pub(super) async fn list(On { app, visitor, .. }: On<()>) -> Markup {
    let all = app.operations.all();
    let body = html! {
        h1 { "Operations" }
        section.card {
            @if all.is_empty() { div.empty { h3 { "No operation since this console has started" } p { "Each redrive and each deletion of a group of dead letters is here." } } }
            @else { div.scroll { table.rows {
                thead { tr { th scope="col" { "Topic" } th scope="col" { "Error" } th.number scope="col" { "Letters" } th scope="col" { "State" } } }
                tbody { @for operation in &all { tr {
                    td { a href={ "/operations/" (operation.group.name) } { (wrapping(operation.group.topic.name())) } }
                    td data-label="Error" { (wrapping(&group(&visitor, operation))) }
                    td.number data-label="Letters" { (progress(operation)) }
                    td data-label="State" { (state(operation)) }
                } } }
            } } }
        }
    };
    page(&app, &visitor, "Operations", &body)
}

pub(super) async fn show(On { app, visitor, names: name }: On<String>) -> Result<Markup, Problem> {
    let operation = find(&app, &name)?;
    let (title, rest) = match operation.what() {
        What::Redrive { .. } => ("Redrive", "the rest stays dead"),
        What::Delete => ("Deletion", "the rest stays"),
    };
    let body = html! {
        h1 { (title) " of " (wrapping(operation.group.topic.name())) }
        section.card {
            p { (group(&visitor, &operation)) }
            p.figure data-live={ "operation " (name) } { (progress(&operation)) }
            progress data-live={ "operation-progress " (name) } max=[operation.total()] value=[operation.total().map(|_| operation.done())] aria-label=(operation.what().past()) {}
            p data-live={ "operation-state " (name) } { (state(&operation)) }
            div.actions {
                @if is_running(&operation) && visitor.may(Action::Redrive) {
                    form method="post" action={ "/operations/" (name) "/stop" } data-live={ "operation-running " (name) } { (csrf(&visitor)) button { "Stop: " (rest) } }
                }
                a href={ (topic_path(operation.group.topic.name())) "/dead" } { "Dead letters of " (operation.group.topic.name()) }
            }
        }
    };
    Ok(page(&app, &visitor, title, &body))
}

pub(super) async fn stop(at: On<String>) -> Result<Acted, Problem> {
    let operation = find(&at.app, &at.names)?;
    at.done(group::stop(&operation.group, &operation), "", &format!("/operations/{}", at.names)).await
}

fn find(app: &App, name: &str) -> Result<Arc<Running>, Problem> {
    app.operations.get(name).ok_or_else(|| Problem::plain(UNKNOWN_OPERATION))
}

/// The group of errors that it sends back.
fn group(visitor: &Visitor, operation: &Running) -> String {
    if visitor.sees_bodies() { operation.group.group.clone() } else { "one group of errors".to_owned() }
}

/// "600 of 1,180 sent back".
pub(super) fn progress(operation: &Running) -> String {
    match operation.total() {
        Some(total) => format!("{} of {} {}", number(operation.done()), number(total), operation.what().past()),
        None => format!("{} dead letters read", number(operation.read() as u64)),
    }
}

pub(super) fn is_running(operation: &Running) -> bool {
    operation.state() == State::Running
}

pub(super) fn state(operation: &Running) -> String {
    match operation.state() {
        State::Running => "› running".to_owned(),
        State::Done => "✓ done".to_owned(),
        State::Stopped => "‖ stopped: the rest is dead".to_owned(),
        State::Failed(problem) => format!("✕ failed: {}", problem.detail()),
    }
}
