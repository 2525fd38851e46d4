//! `/healthz`, `/readyz`, `/metrics`: what the machinery around the service asks.

use super::app::App;
use super::openapi::DatabaseProblems;
use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::time::Duration;
use tracing::warn;
use utoipa::ToSchema;
use web::{Kind, Problem};

/// A database that takes longer to say hello is not ready for visitors.
const DATABASE_PATIENCE: Duration = Duration::from_secs(2);

/// A service that can do its work.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Readiness {
    /// `up`: a database that does not answer makes this a problem instead (503).
    #[schema(example = "up")]
    pub(super) database: &'static str,
    /// `up`, `down`, or `embedded` where there is no Redis. Without its Redis the service answers from the database.
    #[schema(example = "embedded")]
    pub(super) redis: &'static str,
    /// How many writes wait for the database; only with `--write-mode behind`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) writes_waiting: Option<usize>,
}

/// Is the process alive?
///
/// Asks nobody else, so a database that is away does not get the process restarted.
#[utoipa::path(get, path = "/healthz", tag = "operations",
    responses((status = 200, description = "It is", body = str, content_type = "text/plain", example = "ok")))]
pub(super) async fn healthz() -> Response {
    ([(header::CACHE_CONTROL, "no-store")], "ok\n").into_response()
}

/// Can it do its work?
#[utoipa::path(get, path = "/readyz", tag = "operations",
    responses((status = 200, description = "The database answers", body = Readiness), DatabaseProblems))]
pub(super) async fn readyz(State(app): State<App>) -> Result<Response, Problem> {
    let redis = app.service.redis_state();
    let refused = |why: &str| {
        warn!(why, "not ready");
        Problem::new(Kind::UNAVAILABLE, format!("Not ready: the database {why}; Redis: {redis}."))
    };
    match tokio::time::timeout(DATABASE_PATIENCE, app.service.store().ping()).await {
        Ok(Ok(())) => {
            let body = Readiness { database: "up", redis, writes_waiting: app.service.writes_waiting() };
            Ok(([(header::CACHE_CONTROL, "no-store")], Json(body)).into_response())
        }
        Ok(Err(error)) => {
            warn!(%error, "the database does not answer");
            Err(refused("does not answer"))
        }
        Err(_) => Err(refused("did not answer in time")),
    }
}

/// What was counted
#[utoipa::path(get, path = "/metrics", tag = "operations",
    responses((status = 200, description = "In Prometheus's text format", body = str, content_type = "text/plain")))]
pub(super) async fn metrics(State(app): State<App>) -> Response {
    web::render_metrics(&app.prometheus)
}
