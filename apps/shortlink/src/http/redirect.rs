//! `GET /{code}`: what all the rest is for.

use super::app::App;
use super::kind::Kind;
use super::openapi::RedirectProblems;
use super::problem::Problem;
use super::refusal::unknown_code;
use crate::service::{Consistency, Resolution};
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use std::time::Duration;

/// Follow a short link
///
/// `Location` is the target byte for byte. `HEAD` answers the same without counting as anything else.
#[utoipa::path(
    get, path = "/{code}", tag = "redirect",
    params(("code" = String, Path, description = "Code or alias, case-sensitive")),
    responses(
        (status = 302, description = "To the target", headers(
            ("location" = String, description = "The target"),
            ("cache-control" = String, description = "`private, max-age=..`, never beyond the link's end; `no-store` if `eventual`"),
            ("x-consistency-state" = String, description = "`consistent` or `eventual`"))),
        RedirectProblems,
    )
)]
pub(super) async fn follow(State(app): State<App>, Path(code): Path<String>) -> Result<Response, Problem> {
    let (resolution, consistency) = app.service.resolve(&code).await?;
    let destination = match resolution {
        Resolution::Leads(destination) => destination,
        Resolution::Expired => {
            return Ok((Extension(consistency), Problem::of_status(StatusCode::GONE)).into_response());
        }
        Resolution::Unknown => return Ok((Extension(consistency), unknown_code(&code)).into_response()),
    };
    // Not a `Uri`: the target is kept byte for byte, also where it has bytes that a strict URI would have escaped.
    let location = HeaderValue::from_bytes(destination.target.as_bytes())
        .map_err(|_| Problem::new(Kind::Internal, "The stored target cannot be sent in a header."))?;
    let age = match consistency {
        Consistency::Consistent => age_max(app.redirect_age_max, destination.expires_at, app.service.now()),
        Consistency::Eventual | Consistency::Unknown => Duration::ZERO,
    };
    let headers = [(header::LOCATION, location), (header::CACHE_CONTROL, cache_control(age))];
    Ok((StatusCode::FOUND, headers, Extension(consistency)).into_response())
}

/// How long a browser may go on without asking: never beyond the link's own end.
fn age_max(usual: Duration, expires_at: Option<Timestamp>, now: Timestamp) -> Duration {
    let left = expires_at.map(|end| Duration::try_from(end.duration_since(now)).unwrap_or(Duration::ZERO));
    left.map_or(usual, |left| left.min(usual))
}

/// `private`: a shared cache between us and the visitor would not hear of an edit.
fn cache_control(age: Duration) -> HeaderValue {
    match age.as_secs() {
        0 => HeaderValue::from_static("no-store"),
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
    fn a_browser_keeps_a_redirect_no_longer_than_the_link_lives() {
        let now = Timestamp::from_second(1_000).unwrap();
        let at = |second| Some(Timestamp::from_second(second).unwrap());
        let usual = Duration::from_secs(10);
        assert_eq!(cache_control(age_max(usual, None, now)), "private, max-age=10");
        assert_eq!(cache_control(age_max(usual, at(2_000), now)), "private, max-age=10");
        assert_eq!(cache_control(age_max(usual, at(1_003), now)), "private, max-age=3");
        assert_eq!(cache_control(age_max(usual, at(900), now)), "no-store");
        assert_eq!(cache_control(age_max(Duration::ZERO, None, now)), "no-store");
    }
}
