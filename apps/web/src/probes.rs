//! `/healthz`, `/readyz`, `/metrics`: what the machinery around a service asks.

use crate::{Kind, Problem};
use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use metrics_exporter_prometheus::PrometheusHandle;
use serde::Serialize;
use std::fmt::Display;
use std::future::Future;
use std::time::Duration;
use tracing::warn;

/// A database that takes longer to say hello is not ready for visitors.
const DATABASE_PATIENCE: Duration = Duration::from_secs(2);

/// Liveness
///
/// Asks nobody else, so a database that is away does not get the process restarted.
#[utoipa::path(get, path = "/healthz", tag = "operations",
    responses((status = 200, description = "The process runs", body = str, content_type = "text/plain", example = "ok")))]
pub async fn healthz() -> Response {
    ([(header::CACHE_CONTROL, "no-store")], "ok\n").into_response()
}

/// Prometheus metrics
#[utoipa::path(get, path = "/metrics", tag = "operations",
    responses((status = 200, description = "Metrics in Prometheus's text format", body = str, content_type = "text/plain")))]
pub async fn metrics(State(prometheus): State<PrometheusHandle>) -> Response {
    crate::metrics::render(&prometheus)
}

/// What `/readyz` answers: `body`, if the database answers a `ping` in time. `redis` is said to those who hear that it does not.
///
/// # Errors
/// The database does not answer.
pub async fn ready<E: Display>(
    ping: impl Future<Output = Result<(), E>>,
    redis: &str,
    body: impl Serialize,
) -> Result<Response, Problem> {
    let refused = |why: &str| {
        warn!(why, "not ready");
        Problem::new(Kind::UNAVAILABLE, format!("Not ready: the database {why}; Redis: {redis}."))
    };
    match tokio::time::timeout(DATABASE_PATIENCE, ping).await {
        Ok(Ok(())) => Ok(([(header::CACHE_CONTROL, "no-store")], Json(body)).into_response()),
        Ok(Err(error)) => {
            warn!(%error, "the database does not answer");
            Err(refused("does not answer"))
        }
        Err(_) => Err(refused("did not answer in time")),
    }
}
