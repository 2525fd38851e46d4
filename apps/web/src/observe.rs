//! What can be seen of a request from outside: its short id, one line in the log, and the counters.

use crate::metrics::{Family, HttpMetrics};
use crate::{Consistency, Problem, ShortId, X_SHORT_ID};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use std::sync::Arc;
use std::time::Instant;
use tracing::{Instrument, Level, Span, debug, field, info, warn};

/// The header that says how far an answer can be relied upon; [`Consistency`] has the three values.
pub static X_CONSISTENCY_STATE: HeaderName = HeaderName::from_static("x-consistency-state");

/// Middleware: runs the request in a span that carries its short id, then counts and logs it.
pub(crate) async fn observe<F: Family>(
    State(metrics): State<Arc<HttpMetrics<F>>>,
    request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let id = ShortId::of(request.headers());
    let family = F::of(request.extensions().get::<MatchedPath>().map(MatchedPath::as_str));
    let span = span(&request, id, family);
    let mut response = next.run(request).instrument(span.clone()).await;
    response.headers_mut().insert(&X_SHORT_ID, id.header());
    if let Some(consistency) = response.extensions().get::<Consistency>().copied() {
        response.headers_mut().insert(&X_CONSISTENCY_STATE, HeaderValue::from_static(consistency.as_str()));
        span.record("consistency", consistency.as_str());
    }
    metrics.count(family, response.status(), started.elapsed());
    span.in_scope(|| log(&response, started));
    response
}

fn span<F: Family>(request: &Request, id: ShortId, family: F) -> Span {
    if family.is_frequent() && !tracing::enabled!(Level::DEBUG) {
        return Span::none();
    }
    let path = request.uri().path();
    tracing::info_span!("request", %id, method = %request.method(), path, consistency = field::Empty)
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
#[derive(Clone, Copy, Debug)]
pub struct Changed;
