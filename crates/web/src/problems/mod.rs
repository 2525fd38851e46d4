//! [`Problem`]: every error response is a problem document (RFC 9457), whether a handler, an extractor, the router or a timeout caused
//! it.

mod kind;
pub(crate) mod negotiate;
mod responses;

pub use kind::Kind;
pub use responses::responses;

use crate::Consistency;
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// A problem document (RFC 9457).
// Also an extension of the response, from which the middleware renders a page for browsers.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Problem {
    /// Problem type: the address of its documentation.
    #[serde(rename = "type")]
    #[schema(example = "/docs#invalid-input")]
    type_uri: String,
    /// Summary of the problem type.
    #[schema(example = "Invalid input")]
    title: &'static str,
    /// The HTTP status.
    #[schema(example = 422)]
    status: u16,
    /// What happened, and what to do.
    #[schema(example = "Unknown field `color`.")]
    detail: String,
    /// The invalid fields of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldError>,
    #[serde(skip)]
    #[schema(ignore)]
    // Boxed: the results of every extractor and handler reserve space for a problem.
    kind: Box<Kind>,
}

/// An invalid field of the request.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct FieldError {
    /// The name of the field, as in the request.
    #[schema(example = "color")]
    pub field: String,
    /// Why it is invalid.
    #[schema(example = "Unknown field `color`.")]
    pub detail: String,
}

impl FieldError {
    /// The field and the reason why it is invalid.
    pub fn new(field: impl Into<String>, detail: impl Into<String>) -> Self {
        FieldError { field: field.into(), detail: detail.into() }
    }
}

impl Problem {
    /// A problem of the type `kind`; `detail` describes this occurrence.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Problem {
            type_uri: format!("/docs#{}", kind.slug),
            title: kind.title,
            status: kind.status.as_u16(),
            detail: detail.into(),
            errors: Vec::new(),
            kind: Box::new(kind),
        }
    }

    /// A problem of the type `kind` with its advice as the detail.
    #[must_use]
    pub fn plain(kind: Kind) -> Self {
        Self::new(kind, kind.advice)
    }

    /// A problem of the type `kind` with one invalid field.
    pub fn of_field(kind: Kind, field: &str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Problem { errors: vec![FieldError::new(field, detail.clone())], ..Problem::new(kind, detail) }
    }

    /// A problem of the type `kind` with several invalid fields.
    #[must_use]
    pub fn of_fields(kind: Kind, errors: Vec<FieldError>) -> Self {
        let detail = errors.iter().map(|error| error.detail.as_str()).collect::<Vec<_>>().join(" ");
        Problem { errors, ..Problem::new(kind, detail) }
    }

    /// The problem for a bare status, as other layers respond with.
    #[must_use]
    pub fn of_status(status: StatusCode) -> Self {
        Problem { status: status.as_u16(), ..Problem::plain(Kind::of_status(status)) }
    }

    /// The problem type.
    #[must_use]
    pub fn kind(&self) -> Kind {
        *self.kind
    }

    /// The summary of the problem type.
    #[must_use]
    pub fn title(&self) -> &'static str {
        self.title
    }

    /// The description of this occurrence.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The invalid fields.
    #[must_use]
    pub fn errors(&self) -> &[FieldError] {
        &self.errors
    }

    /// The HTTP status.
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
        // Errors are transient: what is unknown now may exist a second later.
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
