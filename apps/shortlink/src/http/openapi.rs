//! The OpenAPI document, generated from the handlers.

use super::app::App;
use super::kind::{
    ALIAS_RESERVED, ALIAS_TAKEN, CACHE_UNCONFIRMED, LINK_BANNED, LINK_EXPIRED, UNKNOWN_CODE, VERSION_CONFLICT,
    WRITES_WAIT,
};
use super::{api, probes, redirect};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use web::{FieldError, Kind, Problem, problems};

/// The parts of the document that do not come from a handler.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "shortlink",
        description = "Short links over HTTP. Every error is a problem document (RFC 9457). A body has at most 64 KiB. Every response \
                       has `X-Short-ID`, the request's name in the log; a request may choose it (eight letters or digits). An operation \
                       with `x-refused-by-state` may answer 422 to a request that this document allows: the expiry is not in the future, \
                       the target is no address that browsers follow or one of the service itself, or the page ends after the newest \
                       100,000 links."
    ),
    tags(
        (name = "links", description = "Create, find, change and delete links"),
        (name = "redirect", description = "Redirects"),
        (name = "transfer", description = "Import and export"),
        (name = "conflicts", description = "Writes that could not be applied"),
        (name = "operations", description = "Health and metrics"),
    ),
    components(schemas(Problem, FieldError))
)]
struct Document;

/// The documented routes.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Document::openapi())
        .merge(api::routes())
        .routes(routes!(redirect::follow))
        .routes(routes!(web::probes::healthz))
        .routes(routes!(probes::readyz))
        .routes(routes!(web::probes::metrics))
}

problems! {
    /// Problems of reading one link.
    ReadProblems: UNKNOWN_CODE, Kind::UNAVAILABLE;
    /// Problems of reading the clicks of a link.
    ClickProblems: UNKNOWN_CODE, Kind::INVALID_INPUT, Kind::UNAVAILABLE;
    /// Problems of listing links.
    ListProblems: Kind::INVALID_INPUT, Kind::UNAVAILABLE;
    /// Problems of every write with a body.
    WriteProblems: Kind::BAD_REQUEST, Kind::BODY_TOO_LARGE, Kind::UNSUPPORTED_MEDIA_TYPE, Kind::INVALID_INPUT, Kind::UNAVAILABLE, CACHE_UNCONFIRMED, WRITES_WAIT, Kind::OUTCOME_UNKNOWN;
    /// Problems of deleting a link.
    RemoveProblems: UNKNOWN_CODE, VERSION_CONFLICT, Kind::UNAVAILABLE, CACHE_UNCONFIRMED, WRITES_WAIT, Kind::OUTCOME_UNKNOWN;
    /// Problems of an alias.
    AliasProblems: ALIAS_TAKEN, ALIAS_RESERVED;
    /// Problems of following a link.
    RedirectProblems: UNKNOWN_CODE, LINK_EXPIRED, LINK_BANNED, Kind::UNAVAILABLE;
    /// Problems of dismissing a conflict, whose number may be too large.
    DismissProblems: Kind::BAD_REQUEST, Kind::UNAVAILABLE;
    /// Problems of every request that needs the database.
    DatabaseProblems: Kind::UNAVAILABLE;
}
