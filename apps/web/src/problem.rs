//! Every error leaves as a problem document (RFC 9457), whoever found it: a handler, an extractor, the router or a time-out.

use crate::{Consistency, Kind};
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// What went wrong with one request, as RFC 9457 writes it. Also left in the response's extensions, for those who would rather
/// read a page.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Problem {
    /// Type of the problem: the address of its documentation.
    #[serde(rename = "type")]
    #[schema(example = "/docs#invalid-input")]
    type_uri: String,
    /// Summary of this type of problem.
    #[schema(example = "Invalid input")]
    title: &'static str,
    /// The HTTP status.
    #[schema(example = 422)]
    status: u16,
    /// What happened, and what to do.
    #[schema(example = "Unknown field `colour`.")]
    detail: String,
    /// The invalid fields of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldError>,
    #[serde(skip)]
    #[schema(ignore)]
    // Boxed: every extractor's and handler's result carries a problem, and almost none is one.
    kind: Box<Kind>,
}

/// A field of the request that is invalid.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct FieldError {
    /// The field as it is spelled in the request.
    #[schema(example = "colour")]
    pub field: String,
    /// Why it is invalid.
    #[schema(example = "Unknown field `colour`.")]
    pub detail: String,
}

impl FieldError {
    /// Says why `field` was refused.
    pub fn new(field: impl Into<String>, detail: impl Into<String>) -> Self {
        FieldError { field: field.into(), detail: detail.into() }
    }
}

impl Problem {
    /// A problem of `kind`; `detail` says what happened this time.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Problem {
            type_uri: format!("/docs#{}", kind.slug()),
            title: kind.title(),
            status: kind.status().as_u16(),
            detail: detail.into(),
            errors: Vec::new(),
            kind: Box::new(kind),
        }
    }

    /// A problem of `kind` about which nothing is to be said beyond what the kind says.
    #[must_use]
    pub fn plain(kind: Kind) -> Self {
        Self::new(kind, kind.advice())
    }

    /// A problem of `kind` that one field caused.
    pub fn of_field(kind: Kind, field: &str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Problem { errors: vec![FieldError::new(field, detail.clone())], ..Problem::new(kind, detail) }
    }

    /// Input that was understood and refused, with every field at fault; `kind` is what this service calls that.
    #[must_use]
    pub fn of_fields(kind: Kind, errors: Vec<FieldError>) -> Self {
        let detail = errors.iter().map(|error| error.detail.as_str()).collect::<Vec<_>>().join(" ");
        Problem { errors, ..Problem::new(kind, detail) }
    }

    /// The problem that stands for a bare status some layer answered with.
    #[must_use]
    pub fn of_status(status: StatusCode) -> Self {
        Problem { status: status.as_u16(), ..Problem::plain(Kind::of_status(status)) }
    }

    /// Which problem it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        *self.kind
    }

    /// The kind in words.
    #[must_use]
    pub fn title(&self) -> &'static str {
        self.title
    }

    /// What happened this time.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The fields at fault.
    #[must_use]
    pub fn errors(&self) -> &[FieldError] {
        &self.errors
    }

    /// The HTTP status it is answered with.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status(), Json(&self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        // An error is about this moment: what is unknown now may be there in the next second.
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.status() == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if *self.kind == Kind::OUTCOME_UNKNOWN {
            response.extensions_mut().insert(Consistency::Unknown);
        }
        response.extensions_mut().insert(self);
        response
    }
}
