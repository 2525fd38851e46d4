//! Security headers: content sniffing, content security policy, referrer and caching.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

/// Pages load their own style sheet, script and images and submit forms to this service: nothing inline, nothing from other origins,
/// no framing.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; \
                           base-uri 'none'; frame-ancestors 'none'";

/// Forbids content sniffing.
pub fn set_nosniff(headers: &mut HeaderMap) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Middleware: sets the headers; the policy only on HTML, unless the handler has set one.
pub(crate) async fn security_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    set_nosniff(headers);
    if headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html")) {
        // A service may set a stricter policy.
        headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(PAGE_POLICY));
        // With `no-referrer`, browsers send `Origin: null` with the page's own forms, and the CSRF layer rejects them.
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }
    response
}
