//! Content negotiation of errors: a bare status becomes a problem document, and a browser receives the problem as a page.

use crate::{Consistency, Problem, RouteGroup};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use maud::Markup;

/// Renders a problem as a page.
type Page = fn(&Problem) -> Markup;

/// Middleware. Adds a body to errors of other layers and the router, and renders a page if the client accepts HTML.
pub(crate) async fn negotiate<G: RouteGroup>(
    State((own, visitors)): State<(Page, Page)>,
    request: Request,
    next: Next,
) -> Response {
    let matched = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let page = if G::of(matched).is_for_visitors() { visitors } else { own };
    let wants_page = wants_page(request.headers()) && !request.uri().path().starts_with("/api/");
    let response = next.run(request).await;
    let status = response.status();
    if !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    match response.extensions().get::<Problem>().cloned() {
        Some(_) if !wants_page => response,
        None if is_page(&response) => response,
        known => {
            let problem = known.unwrap_or_else(|| Problem::of_status(status));
            let page = wants_page.then(|| page(&problem));
            let mut rendered = problem.into_response();
            if let Some(page) = page {
                *rendered.body_mut() = page.into_string().into();
                rendered
                    .headers_mut()
                    .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
            }
            with_headers_of(&response, rendered)
        }
    }
}

/// Whether the client accepts HTML explicitly. `*/*` does not count: programs send it.
fn wants_page(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).is_some_and(|accept| accept.contains("text/html"))
}

fn is_page(response: &Response) -> bool {
    response.headers().get(header::CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"text/html"))
}

/// Copies the headers of the original response that do not describe its body, such as `Allow`.
fn with_headers_of(original: &Response, mut rendered: Response) -> Response {
    *rendered.status_mut() = original.status();
    for (name, value) in original.headers() {
        if name != header::CONTENT_TYPE && name != header::CONTENT_LENGTH {
            rendered.headers_mut().insert(name, value.clone());
        }
    }
    if let Some(consistency) = original.extensions().get::<Consistency>() {
        rendered.extensions_mut().insert(*consistency);
    }
    rendered
}
