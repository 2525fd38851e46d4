//! Headers that tell a browser what not to do with our answers.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

/// The page needs its own style sheet, script and pictures, and sends its forms home. Nothing inline, nothing from elsewhere,
/// no frame around it.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; \
                           base-uri 'none'; frame-ancestors 'none'";

/// For every answer: it is what it says it is.
pub fn trust_the_type(headers: &mut HeaderMap) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Middleware.
pub(crate) async fn secure(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    trust_the_type(headers);
    if headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html")) {
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
        // Not `no-referrer`: with it browsers send `Origin: null` with our own forms.
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }
    response
}
