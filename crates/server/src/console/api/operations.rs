//! Operations: redrives and deletions of groups of dead letters that this console has begun.

use super::OnSource;
use super::jobs::change::Changed;
use super::openapi::{ActProblems, ReadProblems};
use super::topics::Nothing;
use super::wide::Wide;
use crate::console::running::{Running, State};
use crate::kind::UNKNOWN_OPERATION;
use crate::operations::group::{self, What};
use axum::Json;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;
use web::{JsonBody, Problem};

/// How far an operation is.
#[derive(Serialize, ToSchema)]
pub(super) struct OperationView {
    id: String,
    topic: String,
    /// `redrive` or `delete`.
    action: &'static str,
    /// `running`, `done`, `stopped` or `failed`.
    state: &'static str,
    /// Letters that were sent back or deleted.
    done: Wide,
    /// Letters that it takes; absent while it looks for them.
    total: Option<Wide>,
    /// Why it failed.
    error: Option<String>,
}

impl OperationView {
    fn of(operation: &Running) -> Self {
        let (state, error) = match operation.state() {
            State::Running => ("running", None),
            State::Done => ("done", None),
            State::Stopped => ("stopped", None),
            State::Failed(problem) => ("failed", Some(problem.detail().to_owned())),
        };
        Self {
            id: operation.group.name.clone(),
            topic: operation.group.topic.name().to_owned(),
            action: match operation.what() {
                What::Redrive { .. } => "redrive",
                What::Delete => "delete",
            },
            state,
            done: Wide(operation.done()),
            total: operation.total().map(Wide),
            error,
        }
    }
}

#[utoipa::path(
    get, path = "/api/v1/sources/{source}/operations/{id}", operation_id = "show_operation",
    tag = "dead letters", summary = "How far a redrive or a deletion of a group is",
    responses((status = 200, description = "Done", body = OperationView), ReadProblems)
)]
pub(super) async fn show(at: OnSource) -> Result<Json<OperationView>, Problem> {
    Ok(Json(OperationView::of(find(&at)?.as_ref())))
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/operations/{id}/stop", operation_id = "stop_operation",
    tag = "dead letters", summary = "Stop an operation after its current slice: the rest stays as it is",
    request_body = Nothing,
    responses((status = 200, description = "Done", body = Changed), ActProblems)
)]
pub(super) async fn stop(at: OnSource, JsonBody(Nothing {}): JsonBody<Nothing>) -> Result<Json<Changed>, Problem> {
    let operation = find(&at)?;
    at.changed(group::stop(&operation.group, &operation), "").await
}

fn find(at: &OnSource) -> Result<Arc<Running>, Problem> {
    at.source()?;
    at.app.operations.get(&at.names.id).ok_or_else(|| Problem::plain(UNKNOWN_OPERATION))
}
