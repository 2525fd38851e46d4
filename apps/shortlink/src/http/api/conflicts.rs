//! `/api/conflicts`: writes that were accepted (202) and could not be applied.

use crate::http::App;
use crate::http::openapi::{DatabaseProblems, DismissProblems};
use crate::service::ServiceError;
use crate::store::RecordedConflict;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use web::Problem;

/// The most conflicts in one response.
const CONFLICTS_MAX: u32 = 200;

/// Accepted writes that could not be applied, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Conflicts {
    /// At most 200.
    pub(super) conflicts: Vec<ConflictBody>,
}

/// An accepted write that could not be applied.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ConflictBody {
    /// Number of the conflict, to dismiss it.
    #[schema(example = 1)]
    pub(super) number: i64,
    /// Code of the link.
    #[schema(example = "sale")]
    pub(super) code: String,
    /// Version that the write was accepted as.
    #[schema(example = 1_795_010_400_000_000_i64)]
    pub(super) version: i64,
    /// Time at which the write was given up.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T14:00:00Z")]
    pub(super) noted_at: Timestamp,
    /// `taken`: another link already had the code. `missing`: the link no longer existed. `changed`: the link's version did not match
    /// `If-Match`. `overtaken`: a newer write had already changed the link. `refused`: the database rejected the write.
    #[schema(example = "taken")]
    pub(super) reason: String,
    /// The reason in a sentence.
    #[schema(example = "Another link already had the code.")]
    pub(super) detail: String,
    /// The accepted write.
    #[schema(value_type = Object)]
    pub(super) write: serde_json::Value,
}

/// List conflicts
///
/// With `--write-mode behind` a write is acknowledged before it is in the database. A write that then cannot be applied is recorded as a
/// conflict, visible on all instances, until it is dismissed.
#[utoipa::path(
    get, path = "/api/conflicts", operation_id = "list_conflicts", tag = "conflicts",
    responses((status = 200, description = "The most recent conflicts", body = Conflicts), DatabaseProblems)
)]
pub(super) async fn list(State(app): State<App>) -> Result<Response, Problem> {
    let kept = app.service.store().conflicts(CONFLICTS_MAX).await.map_err(ServiceError::from)?;
    let conflicts = kept.into_iter().map(ConflictBody::from).collect();
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(Conflicts { conflicts })).into_response())
}

/// Dismiss a conflict
///
/// Succeeds if the conflict was already dismissed.
#[utoipa::path(
    delete, path = "/api/conflicts/{number}", tag = "conflicts",
    params(("number" = i64, Path, description = "Number of the conflict")),
    responses((status = 204, description = "The conflict was dismissed"), DismissProblems)
)]
pub(super) async fn dismiss(State(app): State<App>, Path(number): Path<i64>) -> Result<Response, Problem> {
    app.service.store().dismiss_conflict(number).await.map_err(ServiceError::from)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

impl From<RecordedConflict> for ConflictBody {
    fn from(kept: RecordedConflict) -> Self {
        let details = kept.details;
        Self {
            number: kept.number,
            code: details.code,
            version: details.version,
            noted_at: details.noted_at,
            reason: details.reason,
            detail: details.detail,
            write: details.write,
        }
    }
}
