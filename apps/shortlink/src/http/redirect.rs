//! `GET /{code}`: the redirect.

use super::REDIRECT_AGE_MAX;
use super::app::App;
use super::kind::{LINK_BANNED, LINK_EXPIRED};
use super::openapi::RedirectProblems;
use super::problem::unknown_code;
use crate::service::{CachedLink, Resolution};
use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use std::time::Duration;
use web::{Consistency, Kind, Problem};

/// The usual header, preformatted.
const USUAL_AGE_SECONDS: u64 = REDIRECT_AGE_MAX.as_secs();
const USUAL_CACHE_CONTROL: &str = "private, max-age=10";

/// The headers in which browsers say that they fetch in advance: the standard one, and that of Safari and older browsers.
static PURPOSES: [HeaderName; 2] = [HeaderName::from_static("sec-purpose"), HeaderName::from_static("purpose")];

/// Capacity for the headers of a redirect, including those that the middleware adds.
const HEADERS: usize = 8;

/// Follow a short link
///
/// `Location` is the target, byte for byte. `HEAD` returns the same headers and counts as no click.
#[utoipa::path(
    get, path = "/{code}", tag = "redirect",
    params(("code" = String, Path, description = "Code or alias, case-sensitive")),
    responses(
        (status = 302, description = "Redirect to the target", headers(
            ("location" = String, description = "The target"),
            ("cache-control" = String, description = "`private, max-age=..`, never beyond the link's expiry; `no-store` if `eventual`"),
            ("x-consistency-state" = String, description = "`consistent` or `eventual`"))),
        RedirectProblems,
    )
)]
pub(super) async fn follow(
    State(app): State<App>,
    Path(code): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let (resolution, consistency) = app.service.resolve(&code).await?;
    let cached = match resolution {
        Resolution::Found(cached) => cached,
        Resolution::Expired => {
            return Ok((Extension(consistency), Problem::plain(LINK_EXPIRED)).into_response());
        }
        Resolution::Banned => {
            let problem = Problem::new(LINK_BANNED, "This link was banned by the operators of this service.");
            return Ok((Extension(consistency), problem).into_response());
        }
        Resolution::Unknown => return Ok((Extension(consistency), unknown_code(&code)).into_response()),
    };
    let mut response = response(&app, &cached, consistency)
        .ok_or_else(|| Problem::new(Kind::INTERNAL, "The stored target cannot be sent in a header."))?;
    response.extensions_mut().insert(consistency);
    // A HEAD request asks where the link leads, and does not go there.
    if request.method() == Method::GET {
        app.service.count_click(&code, agent(request.headers()));
    }
    Ok(response)
}

/// The visitor's program; `None`, as for a bot, if a browser fetches the link in advance, before a person follows it.
pub(super) fn agent(headers: &HeaderMap) -> Option<&[u8]> {
    let is_early = |name: &HeaderName| headers.get(name).is_some_and(|value| value.as_bytes().starts_with(b"prefetch"));
    let agent = headers.get(header::USER_AGENT).map(HeaderValue::as_bytes);
    agent.filter(|_| !PURPOSES.iter().any(is_early))
}

/// The redirect; `None` if the target is not a valid header value.
pub(super) fn response(app: &App, cached: &CachedLink, consistency: Consistency) -> Option<Response> {
    // Not a `Uri`, which would refuse or escape bytes of a target that is sent byte for byte.
    let location = HeaderValue::from_bytes(cached.target.as_bytes()).ok()?;
    let age = match consistency {
        Consistency::Consistent => age_max(app.redirect_age_max, cached.expires_at, || app.service.now()),
        Consistency::Eventual | Consistency::Unknown => Duration::ZERO,
    };
    let mut headers = HeaderMap::with_capacity(HEADERS);
    headers.insert(header::LOCATION, location);
    headers.insert(header::CACHE_CONTROL, cache_control(age));
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::FOUND;
    *response.headers_mut() = headers;
    Some(response)
}

/// The `max-age` of a redirect: never beyond the link's expiry.
fn age_max(usual: Duration, expires_at: Option<Timestamp>, now: impl FnOnce() -> Timestamp) -> Duration {
    let left = expires_at.map(|end| Duration::try_from(end.duration_since(now())).unwrap_or(Duration::ZERO));
    left.map_or(usual, |left| left.min(usual))
}

/// `private`, because a shared cache between service and visitor would not see an edit.
fn cache_control(age: Duration) -> HeaderValue {
    match age.as_secs() {
        0 => HeaderValue::from_static("no-store"),
        USUAL_AGE_SECONDS => HeaderValue::from_static(USUAL_CACHE_CONTROL),
        seconds => {
            HeaderValue::try_from(format!("private, max-age={seconds}")).unwrap_or(HeaderValue::from_static("no-store"))
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn redirect_max_age_never_exceeds_link_expiry() {
        let now = Timestamp::from_second(1_000).unwrap();
        let at = |second| Some(Timestamp::from_second(second).unwrap());
        let usual = Duration::from_secs(10);
        assert_eq!(cache_control(age_max(usual, None, || now)), "private, max-age=10");
        assert_eq!(cache_control(age_max(usual, at(2_000), || now)), "private, max-age=10");
        assert_eq!(cache_control(age_max(usual, at(1_003), || now)), "private, max-age=3");
        assert_eq!(cache_control(age_max(usual, at(900), || now)), "no-store");
        assert_eq!(cache_control(age_max(Duration::ZERO, None, || now)), "no-store");
        let written = format!("private, max-age={}", REDIRECT_AGE_MAX.as_secs());
        assert_eq!(cache_control(REDIRECT_AGE_MAX), written.as_str(), "the preformatted header");
    }
}
