//! `/readyz`; [`web::probes`] has the other probes.

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
    /// Always `up`: while the database does not respond or refuses writes, the response is a problem (503).
    #[schema(example = "up")]
    pub(super) database: &'static str,
    /// `up`, `down`, or `embedded` without Redis. While it is down, only the strategies without Redis locks work.
    #[schema(example = "embedded")]
    pub(super) redis: &'static str,
}

/// Readiness
#[utoipa::path(get, path = "/readyz", tag = "operations",
    responses((status = 200, description = "The database responds and accepts a write", body = Readiness), DatabaseProblems))]
pub(super) async fn readyz(State(app): State<App>) -> Result<Response, Problem> {
    let redis = app.service.redis_state();
    let body = Readiness { database: "up", redis };
    let store = app.service.store();
    let check = async {
        store.ping().await?;
        store.try_write().await
    };
    Box::pin(web::probes::ready(check, StoreError::refusal, redis, body)).await
}
