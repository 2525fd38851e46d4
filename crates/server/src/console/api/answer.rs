//! Problems of the API: each says what has become of the request, in its field `outcome`.

use crate::console::rights::API_BODY_BYTES_MAX;
use crate::kind::{TOO_MANY, outcome};
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::time::Duration;
use web::{Kind, Problem};

#[derive(Serialize)]
struct WithOutcome<'a> {
    #[serde(flatten)]
    problem: &'a Problem,
    /// `none`: nothing was changed; `partial`: a part was; `unknown`: read the state before repeating what may not be done twice.
    outcome: &'static str,
}

/// Adds the outcome to a problem document. An error of another layer becomes a document first.
pub(crate) fn with_outcome(response: Response) -> Response {
    let status = response.status();
    if !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let problem = response.extensions().get::<Problem>().cloned().unwrap_or_else(|| Problem::of_status(status));
    // Of the layers of every service, which do not know this limit, and speak of forms.
    let problem = match problem.kind() {
        Kind::BODY_TOO_LARGE => {
            let detail = format!("The body is larger than {} MiB. Nothing was changed.", API_BODY_BYTES_MAX >> 20);
            Problem::new(Kind::BODY_TOO_LARGE, detail)
        }
        Kind::CROSS_ORIGIN => {
            let detail = "The check of `Origin` failed: a page of another site sent this request. Nothing was changed.";
            Problem::new(Kind::CROSS_ORIGIN, detail)
        }
        _ => problem,
    };
    let json = Json(WithOutcome { problem: &problem, outcome: outcome(problem.kind()) }).into_response();
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    // The negotiation of errors leaves a response with a problem as it is.
    parts.extensions.insert(problem);
    Response::from_parts(parts, json.into_body())
}

/// 429 with `Retry-After`.
pub(crate) fn too_many(what: &str, wait: Duration) -> Response {
    let seconds = wait.as_secs().saturating_add(1);
    let mut response =
        Problem::new(TOO_MANY, format!("{what} Try again in {seconds} s. Nothing was changed.")).into_response();
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    debug_assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    response
}
