//! The counters of the HTTP side, registered once, and the page Prometheus reads.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use metrics::{Counter, Histogram, counter, describe_counter, describe_histogram, histogram};
use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::time::Duration;

/// Upper bounds of the latency buckets in seconds: what is at hand takes some 0.1 ms, the slowest allowed request 30 s.
const LATENCY_SECONDS: [f64; 12] =
    [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05, 0.25, 1.0, 5.0, 30.0];

/// How often the recorder folds what was measured, so that its memory is bounded even if nobody reads it.
const UPKEEP: Duration = Duration::from_secs(5);

/// A family of addresses that is counted together. Bounded, so that no visitor can make new time series.
pub trait Family: Copy + Send + Sync + 'static {
    /// All of them; each stands at its [`place`](Self::place).
    const ALL: &'static [Self];
    /// The name of the counter of requests, with the labels `route` and `status`.
    const REQUESTS: &'static str;
    /// The name of the histogram of times in seconds, with the label `route`.
    const SECONDS: &'static str;

    /// The family of a matched path; `None` is an address that matched nothing.
    fn of(matched: Option<&str>) -> Self;

    /// Where it stands among all.
    fn place(self) -> usize;

    /// The label.
    fn name(self) -> &'static str;

    /// Whether those who ask are visitors, whose error pages have no links into the administration.
    fn is_for_visitors(self) -> bool {
        false
    }

    /// Whether it says nothing that is not public, so that it is answered under any host's name.
    fn is_public(self) -> bool;

    /// Whether its requests are so many that a span exists only where somebody looks at that level.
    fn is_frequent(self) -> bool;
}

/// Handles on every counter of the HTTP side; looking one up by name costs more than the rest of a short answer.
pub struct HttpMetrics<F> {
    families: Vec<FamilyMetrics>,
    family: PhantomData<F>,
}

struct FamilyMetrics {
    /// By class of status: 1xx to 5xx.
    requests: [Counter; 5],
    seconds: Histogram,
}

impl<F: Family> HttpMetrics<F> {
    /// Registers the counters with the recorder that is installed now (so: after [`install_metrics`](crate::install_metrics)).
    #[must_use]
    pub fn register() -> Self {
        describe_counter!(F::REQUESTS, "Requests answered, by family of address and class of status");
        describe_histogram!(F::SECONDS, "Time from the request's head to the answer's head");
        let families = F::ALL.iter().map(|family| FamilyMetrics::register(*family)).collect();
        HttpMetrics { families, family: PhantomData }
    }

    /// Counts one answered request.
    pub fn count(&self, family: F, status: StatusCode, took: Duration) {
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        if let Some(metrics) = self.families.get(family.place()) {
            metrics.requests[class].increment(1);
            metrics.seconds.record(took);
        }
    }
}

impl FamilyMetrics {
    fn register<F: Family>(family: F) -> Self {
        let count = |class| counter!(F::REQUESTS, "route" => family.name(), "status" => class);
        FamilyMetrics {
            requests: ["1xx", "2xx", "3xx", "4xx", "5xx"].map(count),
            seconds: histogram!(F::SECONDS, "route" => family.name()),
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
#[must_use]
pub(crate) fn render(handle: &PrometheusHandle) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], handle.render()).into_response()
}

/// Folds what was measured, for as long as it is polled.
#[expect(clippy::disallowed_methods, reason = "the upkeep runs at an interval")]
pub async fn keep_up(prometheus: PrometheusHandle) {
    let mut ticks = tokio::time::interval(UPKEEP);
    loop {
        ticks.tick().await;
        prometheus.run_upkeep();
    }
}
