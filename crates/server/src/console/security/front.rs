//! The middleware in front of all routes: `Host`, forwarded requests, and the headers of every response.

use crate::console::api::with_outcome;
use crate::console::app::App;
use crate::kind::FORWARDED;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use web::{Kind, Problem};

/// Pages load their own style sheet, script and images, connect to this console, and submit forms to it: nothing inline, nothing from
/// other origins, no framing, and no script may create markup from text.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action \
                           'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

static SAME_ORIGIN_OPENER: HeaderValue = HeaderValue::from_static("same-origin");

pub(crate) async fn front(State(app): State<App>, request: Request, next: Next) -> Response {
    let mut response = match check(&app, request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    headers.insert(header::REFERRER_POLICY, SAME_ORIGIN_OPENER.clone());
    headers.insert(HeaderName::from_static("cross-origin-opener-policy"), SAME_ORIGIN_OPENER.clone());
    headers.insert(HeaderName::from_static("cross-origin-resource-policy"), SAME_ORIGIN_OPENER.clone());
    // Pages show jobs and errors: no cache may keep them. Assets set their own value.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// The outermost middleware: every problem of the API has its outcome, also one of the layers below, such as of an address without a route.
pub(crate) async fn api_problems(request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api/");
    let response = next.run(request).await;
    if is_api { with_outcome(response) } else { response }
}

fn check(app: &App, headers: &HeaderMap) -> Result<(), Problem> {
    let security = &app.security;
    if security.login.is_none() && is_forwarded(headers) {
        return Err(Problem::plain(FORWARDED));
    }
    if !security.hosts.accepts(headers) {
        let detail = "The request's `Host` is not an address of this console. Open it under its own address; behind a proxy, set \
                      `public_url` and a token file.";
        return Err(Problem::new(Kind::FOREIGN_HOST, detail));
    }
    Ok(())
}

/// Whether a proxy has forwarded the request.
fn is_forwarded(headers: &HeaderMap) -> bool {
    headers
        .keys()
        .any(|name| *name == header::FORWARDED || *name == header::VIA || name.as_str().starts_with("x-forwarded-"))
}
