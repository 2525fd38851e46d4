//! What can be seen of a request from outside: its short id, one line in the log, and the counters.

use super::metrics::{HttpMetrics, Route};
use super::problem::Problem;
use super::short_id::{ShortId, X_SHORT_ID};
use crate::service::Consistency;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use std::sync::Arc;
use std::time::Instant;
use tracing::{Instrument, Level, Span, debug, field, info, warn};

/// The header that says how far an answer can be relied upon; README.md defines the three values.
pub(super) static X_CONSISTENCY_STATE: HeaderName = HeaderName::from_static("x-consistency-state");

/// Middleware: runs the request in a span that carries its short id, then counts and logs it.
pub(super) async fn observe(State(metrics): State<Arc<HttpMetrics>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = ShortId::of(request.headers());
    let route = Route::of(request.extensions().get::<MatchedPath>().map(MatchedPath::as_str));
    let span = span(&request, id, route);
    let mut response = next.run(request).instrument(span.clone()).await;
    response.headers_mut().insert(&X_SHORT_ID, id.header());
    if let Some(consistency) = response.extensions().get::<Consistency>().copied() {
        response.headers_mut().insert(&X_CONSISTENCY_STATE, HeaderValue::from_static(consistency.as_str()));
        span.record("consistency", consistency.as_str());
    }
    metrics.count(route, response.status(), started.elapsed());
    span.in_scope(|| log(&response, started));
    response
}

/// Redirects are many, so their span exists only where somebody looks at that level.
fn span(request: &Request, id: ShortId, route: Route) -> Span {
    let path = request.uri().path();
    match route {
        Route::Redirect if !tracing::enabled!(Level::DEBUG) => Span::none(),
        _ => tracing::info_span!("request", %id, method = %request.method(), path, consistency = field::Empty),
    }
}

fn log(response: &Response, started: Instant) {
    let status = response.status().as_u16();
    let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    let problem = response.extensions().get::<Problem>().map(Problem::detail);
    match problem {
        Some(problem) if status >= 500 => warn!(status, micros, problem, "answered"),
        Some(problem) => debug!(status, micros, problem, "answered"),
        None if response.extensions().get::<Changed>().is_some() => info!(status, micros, "answered"),
        None => debug!(status, micros, "answered"),
    }
}

/// Left in the extensions of an answer whose request changed something: those are logged one by one.
#[derive(Clone, Copy)]
pub(crate) struct Changed;
