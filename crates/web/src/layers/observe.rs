//! Per request: a request id, one log line and the metrics.

use crate::metrics::{HttpMetrics, RouteGroup};
use crate::{Consistency, Problem, ShortId, X_SHORT_ID};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use std::sync::Arc;
use std::time::Instant;
use tracing::{Instrument, Level, Span, debug, field, info, warn};

/// The header that says whether a response may be stale; see [`Consistency`].
pub static X_CONSISTENCY_STATE: HeaderName = HeaderName::from_static("x-consistency-state");

/// Middleware: runs the request in a span with its request id, then counts and logs it.
pub(crate) async fn observe<G: RouteGroup>(
    State(metrics): State<Arc<HttpMetrics<G>>>,
    request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let id = ShortId::of(request.headers());
    let group = G::of(request.extensions().get::<MatchedPath>().map(MatchedPath::as_str));
    let span = span(&request, id, group);
    #[cfg(feature = "otel")]
    crate::telemetry::describe_request(&span, &request, id);
    let mut response = next.run(request).instrument(span.clone()).await;
    response.headers_mut().insert(&X_SHORT_ID, id.header());
    if let Some(consistency) = response.extensions().get::<Consistency>().copied() {
        response.headers_mut().insert(&X_CONSISTENCY_STATE, HeaderValue::from_static(consistency.as_str()));
        span.record("consistency", consistency.as_str());
    }
    #[cfg(feature = "otel")]
    crate::telemetry::describe_response(&span, &response);
    metrics.count(group, response.status(), started.elapsed());
    span.in_scope(|| log(&response, started));
    response
}

fn span<G: RouteGroup>(request: &Request, id: ShortId, group: G) -> Span {
    if group.is_frequent() && !tracing::enabled!(Level::DEBUG) {
        return Span::none();
    }
    let path = request.uri().path();
    tracing::info_span!("request", %id, method = %request.method(), path, consistency = field::Empty, otel.kind = field::Empty)
}

fn log(response: &Response, started: Instant) {
    let status = response.status().as_u16();
    let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    let problem = response.extensions().get::<Problem>().map(Problem::detail);
    match problem {
        Some(problem) if status >= 500 => warn!(status, micros, problem, "request failed"),
        Some(problem) => debug!(status, micros, problem, "request rejected"),
        None if response.extensions().get::<Changed>().is_some() => info!(status, micros, "request completed"),
        None => debug!(status, micros, "request completed"),
    }
}

/// An extension of a response whose request changed data: these requests are logged at `info`, the others at `debug`.
#[derive(Clone, Copy, Debug)]
pub struct Changed;
