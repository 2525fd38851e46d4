//! `/api/conflicts`: writes that were accepted (202) and could not be done.

use super::app::App;
use super::openapi::DatabaseProblems;
use crate::service::ServiceError;
use crate::store::KeptConflict;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use web::Problem;

/// The most that one answer has.
const CONFLICTS_MAX: u32 = 200;

/// Accepted writes that the database refused, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Conflicts {
    /// At most 200.
    pub(super) conflicts: Vec<ConflictBody>,
}

/// An accepted write that the database refused.
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
    /// `taken`: another link had got the code first. `missing`: there was no such link any more. `changed`: the link had another
    /// version than `If-Match` named. `overtaken`: a newer write had changed the link. `refused`: by the database.
    #[schema(example = "taken")]
    pub(super) reason: String,
    /// The reason in a sentence.
    #[schema(example = "Another link had got the code first.")]
    pub(super) detail: String,
    /// The accepted write.
    #[schema(value_type = Object)]
    pub(super) write: serde_json::Value,
}

/// List conflicts
///
/// With `--write-mode behind` a write is acknowledged before it is in the database. A write that the database then refuses is kept as a
/// conflict, for all instances, until it is dismissed.
#[utoipa::path(
    get, path = "/api/conflicts", tag = "links",
    responses((status = 200, description = "The most recent conflicts", body = Conflicts), DatabaseProblems)
)]
pub(super) async fn list(State(app): State<App>) -> Result<Response, Problem> {
    let kept = app.service.store().conflicts(CONFLICTS_MAX).await.map_err(ServiceError::from)?;
    let conflicts = kept.into_iter().map(ConflictBody::from).collect();
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(Conflicts { conflicts })).into_response())
}

/// Dismiss a conflict
///
/// Succeeds as well if it was dismissed already.
#[utoipa::path(
    delete, path = "/api/conflicts/{number}", tag = "links",
    params(("number" = i64, Path, description = "Number of the conflict")),
    responses((status = 204, description = "The conflict was dismissed"), DatabaseProblems)
)]
pub(super) async fn dismiss(State(app): State<App>, Path(number): Path<i64>) -> Result<Response, Problem> {
    app.service.store().dismiss_conflict(number).await.map_err(ServiceError::from)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

impl From<KeptConflict> for ConflictBody {
    fn from(kept: KeptConflict) -> Self {
        let told = kept.told;
        Self {
            number: kept.number,
            code: told.code,
            version: told.version,
            noted_at: told.noted_at,
            reason: told.reason,
            detail: told.detail,
            write: told.write,
        }
    }
}
