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

/// Writes that were accepted and could not be done, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Conflicts {
    /// At most 200.
    pub(super) conflicts: Vec<ConflictBody>,
}

/// A write that was accepted and could not be done.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ConflictBody {
    /// Its number, to dismiss it by.
    #[schema(example = 1)]
    pub(super) number: i64,
    /// Which link it was about.
    #[schema(example = "sale")]
    pub(super) code: String,
    /// The version that its acceptance gave it.
    #[schema(example = 1_795_010_400_000_000_i64)]
    pub(super) version: i64,
    /// When it was given up.
    #[schema(value_type = String, format = DateTime, example = "2026-11-21T14:00:00Z")]
    pub(super) noted_at: Timestamp,
    /// `taken`: another link had got the code first. `missing`: there was no such link any more. `changed`: the link had another
    /// version than `If-Match` named. `overtaken`: a newer write had changed the link. `refused`: by the database.
    #[schema(example = "taken")]
    pub(super) reason: String,
    /// The same in a sentence.
    #[schema(example = "Another link had got the code first.")]
    pub(super) detail: String,
    /// The write, as it was accepted.
    #[schema(value_type = Object)]
    pub(super) write: serde_json::Value,
}

/// See what could not be done
///
/// With `--write-mode behind` a write is answered before the database has it. What the database then cannot take is kept here, of all
/// instances, until somebody dismisses it.
#[utoipa::path(
    get, path = "/api/conflicts", tag = "links",
    responses((status = 200, description = "The newest conflicts", body = Conflicts), DatabaseProblems)
)]
pub(super) async fn list(State(app): State<App>) -> Result<Response, Problem> {
    let kept = app.service.store().conflicts(CONFLICTS_MAX).await.map_err(ServiceError::from)?;
    let conflicts = kept.into_iter().map(ConflictBody::from).collect();
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(Conflicts { conflicts })).into_response())
}

/// Dismiss one
///
/// Somebody has seen to it. One that is gone already is what was wanted.
#[utoipa::path(
    delete, path = "/api/conflicts/{number}", tag = "links",
    params(("number" = i64, Path, description = "Which")),
    responses((status = 204, description = "It is gone"), DatabaseProblems)
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
