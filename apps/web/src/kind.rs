//! [`Kind`]: the kinds of problem. The documentation page is made from the same table, so a kind cannot be answered without
//! being explained.

use axum::http::StatusCode;

/// A kind of problem. An application adds its own to those that every service has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    status: StatusCode,
    slug: &'static str,
    title: &'static str,
    advice: &'static str,
}

impl Kind {
    /// The request makes no sense as HTTP or as JSON.
    pub const BAD_REQUEST: Self = Self::new(
        StatusCode::BAD_REQUEST,
        "bad-request",
        "Bad request",
        "The request could not be read. `detail` says where.",
    );
    /// A form was sent from another site.
    pub const CROSS_ORIGIN: Self = Self::new(
        StatusCode::FORBIDDEN,
        "cross-origin",
        "Sent from another site",
        "A browser sent this from a page of another site. Open the page of this service and send it from there.",
    );
    /// No such address in this service.
    pub const NOT_FOUND: Self =
        Self::new(StatusCode::NOT_FOUND, "not-found", "Nothing here", "There is nothing at this address.");
    /// The address exists, the method does not.
    pub const METHOD_NOT_ALLOWED: Self = Self::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method-not-allowed",
        "Method not allowed",
        "The address does not support this method. The header `Allow` lists the methods it supports.",
    );
    /// The client was too slow.
    pub const REQUEST_TIMEOUT: Self = Self::new(
        StatusCode::REQUEST_TIMEOUT,
        "request-timeout",
        "Request took too long",
        "The request was not complete in time. Send it again.",
    );
    /// The body is larger than the limit.
    pub const BODY_TOO_LARGE: Self = Self::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "body-too-large",
        "Body too large",
        "The body is larger than 64 KiB, the limit of every request.",
    );
    /// The body is of a type nobody here reads.
    pub const UNSUPPORTED_MEDIA_TYPE: Self = Self::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported-media-type",
        "Unsupported media type",
        "The body's `Content-Type` is not one this address reads.",
    );
    /// The request names a host that is not this service.
    pub const FOREIGN_HOST: Self = Self::new(
        StatusCode::MISDIRECTED_REQUEST,
        "foreign-host",
        "Not the host of this service",
        "The service listens on a loopback address and the request's `Host` is neither that nor the one of `--public-url`. Behind a proxy, start it with `--public-url`.",
    );
    /// The request was understood and one of its fields is refused.
    pub const INVALID_INPUT: Self = Self::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "invalid-input",
        "Invalid input",
        "The request was understood, but a field is unknown, missing or not acceptable. `errors` names each field and why.",
    );
    /// A defect of the service.
    pub const INTERNAL: Self = Self::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "Internal error",
        "Something failed that should not. The log has the reason under the request's `X-Short-ID`.",
    );
    /// The database did not answer; nothing was changed.
    pub const UNAVAILABLE: Self = Self::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "unavailable",
        "Not available now",
        "The database cannot be reached, or too many requests wait for it. Nothing was changed; try again.",
    );
    /// The database was asked to commit and did not say whether it did.
    pub const OUTCOME_UNKNOWN: Self = Self::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "outcome-unknown",
        "Outcome unknown",
        "The database did not confirm the change: it may have happened or not. Read what it was to change before repeating it.",
    );

    /// Those that every service has. How input that is refused is called, each says itself ([`Refuses`](crate::Refuses)).
    pub const COMMON: &[Kind] = &[
        Self::BAD_REQUEST,
        Self::CROSS_ORIGIN,
        Self::NOT_FOUND,
        Self::METHOD_NOT_ALLOWED,
        Self::REQUEST_TIMEOUT,
        Self::BODY_TOO_LARGE,
        Self::UNSUPPORTED_MEDIA_TYPE,
        Self::FOREIGN_HOST,
        Self::INTERNAL,
        Self::UNAVAILABLE,
        Self::OUTCOME_UNKNOWN,
    ];

    /// A kind that is answered with `status`. `slug` is the last part of its `type`: stable, so programs may compare it; `title`
    /// is the kind in words, `advice` what it means and what to do.
    #[must_use]
    pub const fn new(status: StatusCode, slug: &'static str, title: &'static str, advice: &'static str) -> Self {
        Self { status, slug, title, advice }
    }

    /// The last part of the problem's `type`.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        self.slug
    }

    /// The kind in words.
    #[must_use]
    pub const fn title(self) -> &'static str {
        self.title
    }

    /// The status it is answered with.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        self.status
    }

    /// What it means and what to do.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        self.advice
    }

    /// The common kind that fits a bare status.
    #[must_use]
    pub fn of_status(status: StatusCode) -> Kind {
        let fits = |kind: &&Kind| kind.status == status;
        let fallback = if status.is_client_error() { Self::BAD_REQUEST } else { Self::INTERNAL };
        Self::COMMON.iter().find(fits).copied().unwrap_or(fallback)
    }
}
