//! [`Kind`]: the problem types of RFC 9457. The documentation page is rendered from the same table, so every type is documented.

use axum::http::StatusCode;

/// A problem type. An application adds its own to the common ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The HTTP status.
    pub status: StatusCode,
    /// The last part of the problem's `type`: stable, so that programs may compare it.
    pub slug: &'static str,
    /// The summary.
    pub title: &'static str,
    /// The meaning and the remedy.
    pub advice: &'static str,
}

/// A table of problem types: the constant, and the fields of its [`Kind`].
#[macro_export]
macro_rules! kinds {
    // The same, and a list of these and of all.
    (list $list:ident = [$($also:expr),*]; $($(#[$attribute:meta])* $vis:vis $name:ident = $status:ident, $slug:literal, $title:literal, $advice:literal;)+) => {
        $crate::kinds! { $($(#[$attribute])* $vis $name = $status, $slug, $title, $advice;)+ }

        /// The problem types of this program, for its documentation.
        pub(crate) const $list: &[$crate::Kind] = &[$($also,)* $($name),+];
    };
    ($($(#[$attribute:meta])* $vis:vis $name:ident = $status:ident, $slug:literal, $title:literal, $advice:literal;)+) => {$(
        $(#[$attribute])*
        $vis const $name: $crate::Kind =
            $crate::Kind { status: axum::http::StatusCode::$status, slug: $slug, title: $title, advice: $advice };
    )+};
}

impl Kind {
    kinds! {
        /// The request is not valid HTTP or JSON.
        pub BAD_REQUEST = BAD_REQUEST, "bad-request", "Bad request",
            "The request cannot be parsed: its address, one of its headers or its body is malformed.";
        /// A form was submitted by a page of another origin.
        pub CROSS_ORIGIN = FORBIDDEN, "cross-origin", "Cross-origin request",
            "A page of another site submitted this form. Open the page of this service and submit it there.";
        /// No route matches the path.
        pub NOT_FOUND = NOT_FOUND, "not-found", "Not found",
            "This address does not exist. Check its spelling.";
        /// The path exists, but not with this method.
        pub METHOD_NOT_ALLOWED = METHOD_NOT_ALLOWED, "method-not-allowed", "Method not allowed",
            "This address does not support the method. The header `Allow` lists the allowed methods.";
        /// The request took longer than the service waits.
        pub REQUEST_TIMEOUT = REQUEST_TIMEOUT, "request-timeout", "Request timeout",
            "The request took longer than 30 seconds. Send it again.";
        /// The body is larger than the limit.
        pub BODY_TOO_LARGE = PAYLOAD_TOO_LARGE, "body-too-large", "Body too large",
            "The body is larger than 64 KiB, the limit for every request.";
        /// The address is longer than the HTTP server reads.
        pub URI_TOO_LONG = URI_TOO_LONG, "uri-too-long", "Address too long",
            "The address of the request is longer than 65,534 bytes. Send long texts in a body.";
        /// The head of the request is larger than the HTTP server reads.
        pub HEADERS_TOO_LARGE = REQUEST_HEADER_FIELDS_TOO_LARGE, "headers-too-large", "Headers too large",
            "The request has more than 100 headers, or its address and headers are longer than 400 KiB. Send fewer, for example fewer cookies.";
        /// No handler of the path accepts the body's content type.
        pub UNSUPPORTED_MEDIA_TYPE = UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", "Unsupported media type",
            "This address does not accept the body's `Content-Type`, which is `application/json` for the API and `application/x-www-form-urlencoded` for forms.";
        /// The request's `Host` is not a host of this service.
        pub FOREIGN_HOST = MISDIRECTED_REQUEST, "foreign-host", "Unknown host",
            "The service listens on a loopback address, and the request's `Host` is neither local nor the host of `--public-url`. Behind a proxy, start the service with `--public-url`.";
        /// The request is well-formed, and one of its fields is invalid.
        pub INVALID_INPUT = UNPROCESSABLE_ENTITY, "invalid-input", "Invalid input",
            "A field or parameter is unknown, missing or invalid. `errors` lists each with the reason.";
        /// A bug of the service.
        pub INTERNAL = INTERNAL_SERVER_ERROR, "internal", "Internal error",
            "The service has a bug or its data is damaged. The log has the cause, under the request's `X-Short-ID`.";
        /// The database is unreachable or overloaded; nothing was changed.
        pub UNAVAILABLE = SERVICE_UNAVAILABLE, "unavailable", "Unavailable",
            "The database is unreachable, or too many requests are waiting for it. Nothing was changed; try again.";
        /// The commit was sent, and the database did not confirm it.
        pub OUTCOME_UNKNOWN = SERVICE_UNAVAILABLE, "outcome-unknown", "Outcome unknown",
            "The database did not confirm the change, which may or may not have been committed. Read the current state before you repeat the request.";
    }

    /// The problem types of every service, except [`INVALID_INPUT`](Self::INVALID_INPUT), which each service lists first among its own.
    pub const COMMON: &[Kind] = &[
        Self::BAD_REQUEST,
        Self::CROSS_ORIGIN,
        Self::NOT_FOUND,
        Self::METHOD_NOT_ALLOWED,
        Self::REQUEST_TIMEOUT,
        Self::BODY_TOO_LARGE,
        Self::URI_TOO_LONG,
        Self::HEADERS_TOO_LARGE,
        Self::UNSUPPORTED_MEDIA_TYPE,
        Self::FOREIGN_HOST,
        Self::INTERNAL,
        Self::UNAVAILABLE,
        Self::OUTCOME_UNKNOWN,
    ];

    /// The common problem type for a bare status.
    #[must_use]
    pub fn of_status(status: StatusCode) -> Kind {
        let fits = |kind: &&Kind| kind.status == status;
        let fallback = if status.is_client_error() { Self::BAD_REQUEST } else { Self::INTERNAL };
        Self::COMMON.iter().find(fits).copied().unwrap_or(fallback)
    }
}
