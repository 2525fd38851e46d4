//! `/healthz`, `/readyz` and `/metrics`.

use crate::sql::Refusal;
use crate::{Kind, Problem};
use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use metrics_exporter_prometheus::PrometheusHandle;
use parking_lot::Mutex;
use serde::Serialize;
use std::fmt::Display;
use std::future::Future;
use std::time::{Duration, Instant};
use tracing::warn;

/// How long `/readyz` waits for the database.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// At most one write is tried in this time.
const WRITE_PAUSE: Duration = Duration::from_secs(1);

/// How long a tried write waits for others: a busy database is not a failing one.
const WRITE_PATIENCE: Duration = Duration::from_secs(1);

/// Tries writes for `/readyz`: a database that answers queries may have a full disk, or be read-only after a failover.
#[derive(Debug, Default)]
pub struct WriteProbe {
    succeeded_at: Mutex<Option<Instant>>,
}

impl WriteProbe {
    /// Tries `write`, unless one has succeeded within the last second. Does not wait for a database that is busy.
    ///
    /// # Errors
    /// That of `write`.
    pub async fn check<E>(&self, write: impl Future<Output = Result<(), E>>) -> Result<(), E> {
        if self.succeeded_at.lock().is_some_and(|at| at.elapsed() < WRITE_PAUSE) {
            return Ok(());
        }
        if let Ok(written) = tokio::time::timeout(WRITE_PATIENCE, write).await {
            written?;
            *self.succeeded_at.lock() = Some(Instant::now());
        }
        Ok(())
    }
}

/// Liveness
///
/// Does not depend on other servers: an unreachable database must not cause a restart of this process.
#[utoipa::path(get, path = "/healthz", tag = "operations",
    responses((status = 200, description = "The process is running", body = str, content_type = "text/plain", example = "ok")))]
pub async fn healthz() -> Response {
    ([(header::CACHE_CONTROL, "no-store")], "ok\n").into_response()
}

/// Prometheus metrics
#[utoipa::path(get, path = "/metrics", tag = "operations",
    responses((status = 200, description = "Metrics in Prometheus's text format", body = str, content_type = "text/plain")))]
pub async fn metrics(State(prometheus): State<PrometheusHandle>) -> Response {
    crate::metrics::render(&prometheus)
}

/// The response of `/readyz`: `body` if the `check` of the database succeeds in time, else a problem that also states `redis`. `refusal`
/// is the reason of a database that answers and refuses writes.
///
/// # Errors
/// The database does not respond, or refuses writes.
pub async fn ready<E: Display>(
    check: impl Future<Output = Result<(), E>>,
    refusal: impl Fn(&E) -> Option<Refusal>,
    redis: &str,
    body: impl Serialize,
) -> Result<Response, Problem> {
    let not_ready = |why: &str| {
        warn!(why, "not ready");
        Problem::new(Kind::UNAVAILABLE, format!("Not ready: the database {why}; Redis: {redis}."))
    };
    match tokio::time::timeout(CHECK_TIMEOUT, check).await {
        Ok(Ok(())) => Ok(([(header::CACHE_CONTROL, "no-store")], Json(body)).into_response()),
        Ok(Err(error)) => {
            warn!(%error, "the database cannot be used");
            Err(match refusal(&error) {
                Some(refusal) => not_ready(&format!("refuses writes: {refusal}")),
                None => not_ready("does not respond"),
            })
        }
        Err(_) => Err(not_ready("did not respond in time")),
    }
}
