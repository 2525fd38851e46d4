//! The HTTP metrics, registered once, and `/metrics`.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use metrics::{Counter, Histogram, counter, histogram};
use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};
use std::sync::OnceLock;
use std::time::Duration;

/// Upper bounds of the latency buckets in seconds: a local cache hit takes about 0.1 ms, the request timeout is 30 s.
const LATENCY_SECONDS: [f64; 12] =
    [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05, 0.25, 1.0, 5.0, 30.0];

/// How often the recorder drains its histograms, so that its memory stays bounded without scrapes.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// The routes that share a `route` label. A closed set, so that requests cannot create time series.
pub trait RouteGroup: Copy + PartialEq + Send + Sync + 'static {
    /// Every group, and the value of its label `route`.
    const ALL: &'static [(Self, &'static str)];
    /// The name of the request counter, with the labels `route` and `status`.
    const REQUESTS: &'static str;
    /// The name of the latency histogram in seconds, with the label `route`.
    const SECONDS: &'static str;

    /// The group of a matched path; `None` means that no route matched.
    fn of(matched: Option<&str>) -> Self;

    /// Whether visitors request it: their error pages do not link to the administration pages.
    fn is_for_visitors(self) -> bool {
        false
    }

    /// Whether its responses are public, so that any `Host` is accepted.
    fn is_public(self) -> bool;

    /// Whether its requests are too frequent for a tracing span, except at level `debug`.
    fn is_frequent(self) -> bool {
        false
    }
}

/// Handles on every HTTP metric: a lookup by name would cost more than the rest of a short response.
pub struct HttpMetrics<G> {
    groups: Vec<(G, GroupMetrics)>,
}

struct GroupMetrics {
    /// By class of status: 1xx to 5xx.
    requests: [Counter; 5],
    seconds: Histogram,
}

impl<G: RouteGroup> HttpMetrics<G> {
    /// Registers the metrics with the installed recorder; call [`install_metrics`](crate::install_metrics) first.
    #[must_use]
    pub fn register() -> Self {
        HttpMetrics {
            groups: G::ALL.iter().map(|(group, label)| (*group, GroupMetrics::register::<G>(label))).collect(),
        }
    }

    /// Counts one completed request.
    pub fn count(&self, group: G, status: StatusCode, took: Duration) {
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        if let Some((_, metrics)) = self.groups.iter().find(|(counted, _)| *counted == group) {
            metrics.requests[class].increment(1);
            metrics.seconds.record(took);
        }
    }
}

impl GroupMetrics {
    fn register<G: RouteGroup>(label: &'static str) -> Self {
        let count = |class| counter!(G::REQUESTS, "route" => label, "status" => class);
        GroupMetrics {
            requests: ["1xx", "2xx", "3xx", "4xx", "5xx"].map(count),
            seconds: histogram!(G::SECONDS, "route" => label),
        }
    }
}

/// Installs the process's metrics recorder, once. Call it before anything registers a metric.
///
/// # Errors
/// Another recorder is already installed.
pub fn install() -> Result<PrometheusHandle, BuildError> {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    if let Some(handle) = HANDLE.get() {
        return Ok(handle.clone());
    }
    let handle = PrometheusBuilder::new().set_buckets(&LATENCY_SECONDS)?.install_recorder()?;
    crate::metrics_page::describe();
    Ok(HANDLE.get_or_init(|| handle).clone())
}

/// `GET /metrics` in Prometheus's text format.
#[must_use]
pub(crate) fn render(handle: &PrometheusHandle) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], handle.render()).into_response()
}

/// Drains the recorder's histograms periodically. Never returns.
#[expect(clippy::disallowed_methods, reason = "the upkeep runs at an interval")]
pub async fn run_upkeep(prometheus: PrometheusHandle) {
    let mut ticks = tokio::time::interval(UPKEEP_INTERVAL);
    loop {
        ticks.tick().await;
        prometheus.run_upkeep();
    }
}
