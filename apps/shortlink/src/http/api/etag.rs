//! Versions as entity tags, in `ETag` and `If-Match`.

use crate::http::kind::VERSION_CONFLICT;
use crate::service::Service;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use web::Problem;

/// The `ETag` of a version.
pub(super) fn of(version: i64) -> HeaderValue {
    HeaderValue::try_from(format!("\"{version}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

/// The versions that `If-Match` accepts; `None` for any version.
pub(super) struct IfMatch(Option<Vec<i64>>);

impl IfMatch {
    /// The version that a write of the link requires. Of several tags it is that of the link as it is now: the write is refused if
    /// the link changes meanwhile.
    pub(super) async fn expected(self, service: &Service, code: &str) -> Result<Option<i64>, Problem> {
        let Some(accepted) = self.0 else { return Ok(None) };
        if accepted.len() > 1
            && let Some(link) = service.get(code).await?
            && accepted.contains(&link.version)
        {
            return Ok(Some(link.version));
        }
        Ok(accepted.first().copied())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let lines = parts.headers.get_all(header::IF_MATCH).into_iter().map(|line| line.to_str().unwrap_or_default());
        let tags: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
        if tags.is_empty() || tags == ["*"] {
            return Ok(IfMatch(None));
        }
        // A tag that this service never issues (weak, another service's) matches no version.
        let version = |tag: &&str| tag.strip_prefix('"')?.strip_suffix('"')?.parse().ok();
        let versions: Vec<i64> = tags.iter().filter_map(version).collect();
        if versions.is_empty() {
            let detail = "`If-Match` must contain the link's current `ETag`, or be `*`.";
            return Err(Problem::new(VERSION_CONFLICT, detail));
        }
        Ok(IfMatch(Some(versions)))
    }
}
