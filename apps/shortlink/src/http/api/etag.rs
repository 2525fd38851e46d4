//! Versions as entity tags, in `ETag` and `If-Match`.

use crate::http::kind::VERSION_CONFLICT;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use web::Problem;

/// The `ETag` of a version.
pub(super) fn of(version: i64) -> HeaderValue {
    HeaderValue::try_from(format!("\"{version}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

/// The version that `If-Match` requires; `None` for any version.
pub(super) struct IfMatch(pub(super) Option<i64>);

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let Some(value) = parts.headers.get(header::IF_MATCH) else { return Ok(IfMatch(None)) };
        let text = value.to_str().unwrap_or_default().trim();
        if text == "*" {
            return Ok(IfMatch(None));
        }
        // A tag that this service never issues (weak, a list, another service's) matches no version.
        let version = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).and_then(|tag| tag.parse().ok());
        let refused = || Problem::new(VERSION_CONFLICT, "`If-Match` must be the link's current `ETag`, or `*`.");
        version.map(|version| IfMatch(Some(version))).ok_or_else(refused)
    }
}
