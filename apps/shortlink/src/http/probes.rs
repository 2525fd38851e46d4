//! `/readyz`. [`web::probes`] has the other probes.

use super::app::App;
use super::openapi::DatabaseProblems;
use crate::store::StoreError;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;
use web::Problem;

/// State of a service that is ready.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Readiness {
    /// Always `up`: while the database does not answer or refuses writes, the response is a problem document (503).
    #[schema(example = "up")]
    pub(super) database: &'static str,
    /// `up`, `down`, or `embedded` if no Redis is configured. While Redis is down, redirects come from the database.
    #[schema(example = "embedded")]
    pub(super) redis: &'static str,
    /// Number of pending writes in the spool; only with `--write-mode behind`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) writes_waiting: Option<usize>,
}

/// Readiness
#[utoipa::path(get, path = "/readyz", tag = "operations",
    responses((status = 200, description = "Ready: the database answers and accepts a write", body = Readiness), DatabaseProblems))]
pub(super) async fn readyz(State(app): State<App>) -> Result<Response, Problem> {
    let redis = app.service.redis_state();
    let body = Readiness { database: "up", redis, writes_waiting: app.service.writes_waiting() };
    let store = app.service.store();
    let check = async {
        store.ping().await?;
        store.try_write().await
    };
    Box::pin(web::probes::ready(check, StoreError::refusal, redis, body)).await
}
