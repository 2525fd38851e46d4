//! The OpenAPI document: made from the handlers themselves, so it cannot tell of routes that are not there.

use super::app::App;
use super::kind::{
    ALIAS_RESERVED, ALIAS_TAKEN, CACHE_UNCONFIRMED, LINK_BANNED, LINK_EXPIRED, UNKNOWN_CODE, VERSION_CONFLICT,
    WRITES_WAIT,
};
use super::{bulk, conflicts, links, probes, redirect};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use web::{FieldError, Kind, Problem, problems};

/// What the document says beside the routes.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "shortlink",
        description = "Short links over HTTP. Every error is a problem document (RFC 9457). Every answer carries `X-Short-ID`, the \
                       name of the request in the log; a request may choose it (eight letters or digits)."
    ),
    tags(
        (name = "links", description = "Create, find, change and delete links"),
        (name = "redirect", description = "Redirects"),
        (name = "transfer", description = "Import and export"),
        (name = "operations", description = "Health and metrics"),
    ),
    components(schemas(Problem, FieldError))
)]
struct Document;

/// The documented routes.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(links::create, links::list))
        .routes(routes!(links::read, links::change, links::remove))
        .routes(routes!(conflicts::list))
        .routes(routes!(conflicts::dismiss))
        .routes(routes!(bulk::import))
        .routes(routes!(bulk::export))
        .routes(routes!(redirect::follow))
        .routes(routes!(web::probes::healthz))
        .routes(routes!(probes::readyz))
        .routes(routes!(web::probes::metrics))
}

/// The document as it is served: indented, so that a person can read it and a difference is a difference of lines.
pub(super) fn json(document: &utoipa::openapi::OpenApi) -> String {
    document.to_pretty_json().unwrap_or_default()
}

problems! {
    /// What can go wrong while one link is looked up.
    ReadProblems: UNKNOWN_CODE, Kind::UNAVAILABLE;
    /// What can go wrong while a list is made.
    ListProblems: Kind::INVALID_INPUT, Kind::UNAVAILABLE;
    /// What can go wrong while a link is written.
    WriteProblems: Kind::BAD_REQUEST, Kind::BODY_TOO_LARGE, Kind::UNSUPPORTED_MEDIA_TYPE, Kind::INVALID_INPUT, Kind::UNAVAILABLE, CACHE_UNCONFIRMED, WRITES_WAIT, Kind::OUTCOME_UNKNOWN;
    /// What can go wrong while a link is deleted.
    RemoveProblems: UNKNOWN_CODE, VERSION_CONFLICT, Kind::UNAVAILABLE, CACHE_UNCONFIRMED, WRITES_WAIT, Kind::OUTCOME_UNKNOWN;
    /// What can go wrong with an alias.
    AliasProblems: ALIAS_TAKEN, ALIAS_RESERVED;
    /// What can go wrong on the way to a target.
    RedirectProblems: UNKNOWN_CODE, LINK_EXPIRED, LINK_BANNED, Kind::UNAVAILABLE;
    /// What can go wrong wherever the database is asked.
    DatabaseProblems: Kind::UNAVAILABLE;
}
