//! The kinds of problem this service answers with: their names, statuses and what they mean. The documentation page is
//! made from this table, so a kind cannot be answered without being explained.

use axum::http::StatusCode;

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $kind:ident = $status:ident, $slug:literal, $title:literal, $advice:literal;)*) => {
        /// A kind of problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Kind { $($(#[doc = $doc])* $kind,)* }

        impl Kind {
            /// All of them, by status.
            pub(crate) const ALL: &[Kind] = &[$(Kind::$kind,)*];

            /// The last part of the problem's `type`; stable, so programs may compare it.
            pub(crate) fn slug(self) -> &'static str {
                match self { $(Kind::$kind => $slug,)* }
            }

            /// The kind in words.
            pub(crate) fn title(self) -> &'static str {
                match self { $(Kind::$kind => $title,)* }
            }

            /// The status it is answered with.
            pub(crate) fn status(self) -> StatusCode {
                match self { $(Kind::$kind => StatusCode::$status,)* }
            }

            /// What it means and what to do.
            pub(crate) fn advice(self) -> &'static str {
                match self { $(Kind::$kind => $advice,)* }
            }
        }
    };
}

kinds! {
    /// The request makes no sense as HTTP or as JSON.
    BadRequest = BAD_REQUEST, "bad-request", "Bad request",
        "The request could not be read. `detail` says where.";
    /// A form was sent from another site.
    CrossOrigin = FORBIDDEN, "cross-origin", "Sent from another site",
        "A browser sent this from a page of another site. Open the page of this service and send it from there.";
    /// No such address in this service.
    NotFound = NOT_FOUND, "not-found", "Nothing here",
        "There is nothing at this address.";
    /// No link has this code.
    UnknownCode = NOT_FOUND, "unknown-code", "Unknown code",
        "No link has this code. Codes are case-sensitive.";
    /// The address exists, the method does not.
    MethodNotAllowed = METHOD_NOT_ALLOWED, "method-not-allowed", "Method not allowed",
        "This address does not know the method. The header `Allow` names those it knows.";
    /// The client was too slow.
    RequestTimeout = REQUEST_TIMEOUT, "request-timeout", "Request took too long",
        "The request was not complete in time. Send it again.";
    /// The alias belongs to another link.
    AliasTaken = CONFLICT, "alias-taken", "Alias taken",
        "Another link has this alias. Choose another one, or leave it out to get a code.";
    /// The alias is an address of this service itself.
    AliasReserved = CONFLICT, "alias-reserved", "Alias reserved",
        "The service needs this word for itself. Choose another one.";
    /// The link was there and is over.
    LinkExpired = GONE, "link-expired", "Link expired",
        "The link's `expires_at` has passed. It can still be read, prolonged and deleted through the API.";
    /// `If-Match` named a version that is not the link's.
    VersionConflict = PRECONDITION_FAILED, "version-conflict", "Changed meanwhile",
        "The link was changed since the version named in `If-Match`. Read it again, then repeat the change if it is still wanted.";
    /// The body is larger than the limit.
    BodyTooLarge = PAYLOAD_TOO_LARGE, "body-too-large", "Body too large",
        "The body is larger than 64 KiB, the limit of every request.";
    /// The body is of a type nobody here reads.
    UnsupportedMediaType = UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", "Unsupported media type",
        "The body's `Content-Type` is not one this address reads.";
    /// The request names a host that is not this service.
    ForeignHost = MISDIRECTED_REQUEST, "foreign-host", "Not the host of this service",
        "The service listens on a loopback address and the request's `Host` is neither that nor the one of `--public-url`. Behind a proxy, start it with `--public-url`.";
    /// The request was understood and one of its fields is refused.
    InvalidInput = UNPROCESSABLE_ENTITY, "invalid-input", "Invalid input",
        "The request was understood, but a field is unknown, missing or not acceptable. `errors` names each field and why.";
    /// A defect of the service.
    Internal = INTERNAL_SERVER_ERROR, "internal", "Internal error",
        "Something failed that should not. The log has the reason under the request's `X-Short-ID`.";
    /// The database did not answer; nothing was changed.
    Unavailable = SERVICE_UNAVAILABLE, "unavailable", "Not available now",
        "The database cannot be reached, or too many requests wait for it. Nothing was changed; try again.";
    /// The database was asked to commit and did not say whether it did.
    OutcomeUnknown = SERVICE_UNAVAILABLE, "outcome-unknown", "Outcome unknown",
        "The database did not confirm the change: it may have happened or not. Read the link before repeating it.";
}

impl Kind {
    /// The kind that fits a bare status.
    pub(crate) fn of_status(status: StatusCode) -> Kind {
        let fits = |kind: &&Kind| kind.status() == status;
        let fallback = if status.is_client_error() { Kind::BadRequest } else { Kind::Internal };
        Kind::ALL.iter().find(fits).copied().unwrap_or(fallback)
    }
}
