//! The counters of the HTTP side, registered once, and the page Prometheus reads.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use metrics::{Counter, Histogram, counter, describe_counter, describe_histogram, histogram};
use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};
use std::sync::OnceLock;
use std::time::Duration;

/// Upper bounds of the latency buckets in seconds: a cached redirect takes some 0.1 ms, the slowest allowed request 30 s.
const LATENCY_SECONDS: [f64; 12] =
    [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05, 0.25, 1.0, 5.0, 30.0];

/// A family of addresses that is counted together. Bounded, so that no visitor can make new time series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// `/{code}`
    Redirect,
    /// `/api/...`
    Api,
    /// The page and its assets.
    Page,
    /// Health, readiness, metrics.
    Probe,
    /// Addresses that do not exist.
    Unknown,
}

impl Route {
    const ALL: [Route; 5] = [Route::Redirect, Route::Api, Route::Page, Route::Probe, Route::Unknown];

    /// The family of a matched path; `None` is an address that matched nothing.
    pub(super) fn of(matched: Option<&str>) -> Self {
        match matched {
            None => Route::Unknown,
            Some("/{code}") => Route::Redirect,
            Some("/healthz" | "/readyz" | "/metrics") => Route::Probe,
            Some(path) if path.starts_with("/api/") => Route::Api,
            Some(_) => Route::Page,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Route::Redirect => "redirect",
            Route::Api => "api",
            Route::Page => "page",
            Route::Probe => "probe",
            Route::Unknown => "unknown",
        }
    }
}

/// Handles on every counter of the HTTP side; looking one up by name costs more than the rest of a redirect.
pub(super) struct HttpMetrics {
    routes: [RouteMetrics; 5],
}

struct RouteMetrics {
    /// By class of status: 1xx to 5xx.
    requests: [Counter; 5],
    seconds: Histogram,
}

impl HttpMetrics {
    /// Registers the counters with the recorder that is installed now (so: after [`install`]).
    pub(super) fn register() -> Self {
        describe_counter!(
            "shortlink_http_requests_total",
            "Requests answered, by family of address and class of status"
        );
        describe_histogram!("shortlink_http_request_seconds", "Time from the request's head to the answer's head");
        HttpMetrics { routes: Route::ALL.map(RouteMetrics::register) }
    }

    /// Counts one answered request.
    pub(super) fn count(&self, route: Route, status: StatusCode, took: Duration) {
        let metrics = &self.routes[route as usize];
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        metrics.requests[class].increment(1);
        metrics.seconds.record(took);
    }
}

impl RouteMetrics {
    fn register(route: Route) -> Self {
        let count = |class| counter!("shortlink_http_requests_total", "route" => route.name(), "status" => class);
        RouteMetrics {
            requests: ["1xx", "2xx", "3xx", "4xx", "5xx"].map(count),
            seconds: histogram!("shortlink_http_request_seconds", "route" => route.name()),
        }
    }
}

/// Installs the process's recorder, once. A program calls this before it opens anything that counts.
///
/// # Errors
/// Another recorder is installed already.
pub fn install() -> Result<PrometheusHandle, BuildError> {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    if let Some(handle) = HANDLE.get() {
        return Ok(handle.clone());
    }
    let handle = PrometheusBuilder::new().set_buckets(&LATENCY_SECONDS)?.install_recorder()?;
    Ok(HANDLE.get_or_init(|| handle).clone())
}

/// `GET /metrics`: everything counted so far, in Prometheus's text format.
pub(super) fn render(handle: &PrometheusHandle) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], handle.render()).into_response()
}
