//! Operations: redrives and deletions of groups of dead letters that this console has begun.

use super::OnOperation;
use super::jobs::change::Changed;
use super::openapi::{ActProblems, ReadProblems};
use super::topics::Nothing;
use super::wide::Wide;
use crate::console::kind::UNKNOWN_OPERATION;
use crate::console::operations::{Operation, State, What};
use axum::Json;
use serde::Serialize;
use serde_json::json;
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
    fn of(operation: &Operation) -> Self {
        let (state, error) = match operation.state() {
            State::Running => ("running", None),
            State::Done => ("done", None),
            State::Stopped => ("stopped", None),
            State::Failed(problem) => ("failed", Some(problem.detail().to_owned())),
        };
        Self {
            id: operation.name.clone(),
            topic: operation.topic.clone(),
            action: match operation.what {
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
    params(("source" = String, Path), ("id" = String, Path)),
    responses((status = 200, description = "Done", body = OperationView), ReadProblems)
)]
pub(super) async fn show(at: OnOperation) -> Result<Json<OperationView>, Problem> {
    Ok(Json(OperationView::of(find(&at)?.as_ref())))
}

#[utoipa::path(
    post, path = "/api/v1/sources/{source}/operations/{id}/stop", operation_id = "stop_operation",
    tag = "dead letters", summary = "Stop an operation after its current slice: the rest stays as it is",
    params(("source" = String, Path), ("id" = String, Path)),
    request_body = Nothing,
    responses((status = 200, description = "Done", body = Changed), ActProblems)
)]
pub(super) async fn stop(at: OnOperation, JsonBody(Nothing {}): JsonBody<Nothing>) -> Result<Json<Changed>, Problem> {
    let operation = find(&at)?;
    let act = async {
        operation.stop();
        Ok(Changed { result: "stopping" })
    };
    at.act("stop", json!({ "operation": operation.name, "topic": operation.topic }), act).await.map(Json)
}

fn find(at: &OnOperation) -> Result<Arc<Operation>, Problem> {
    super::source(&at.app, &at.names.source)?;
    at.app.operations.get(&at.names.id).ok_or_else(|| Problem::plain(UNKNOWN_OPERATION))
}
