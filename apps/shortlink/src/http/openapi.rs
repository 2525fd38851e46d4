//! The OpenAPI document: made from the handlers themselves, so it cannot tell of routes that are not there.

use super::app::App;
use super::kind::Kind;
use super::problem::{FieldError, Problem};
use super::{bulk, links, probes, redirect};
use std::collections::BTreeMap;
use utoipa::openapi::{Content, Ref, RefOr, Response};
use utoipa::{IntoResponses, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// What the document says beside the routes.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "shortlink",
        description = "Short links over HTTP. Every error is a problem document (RFC 9457). Every answer carries `X-Short-ID`, the \
                       name of the request in the log; a request may choose it (eight letters or digits)."
    ),
    tags(
        (name = "links", description = "Make, find, change and delete links"),
        (name = "redirect", description = "Follow them"),
        (name = "transfer", description = "Many links at once"),
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
        .routes(routes!(bulk::import))
        .routes(routes!(bulk::export))
        .routes(routes!(redirect::follow))
        .routes(routes!(probes::healthz))
        .routes(routes!(probes::readyz))
        .routes(routes!(probes::metrics))
}

/// The document as it is served: indented, so that a person can read it and a difference is a difference of lines.
pub(super) fn json(document: &utoipa::openapi::OpenApi) -> String {
    document.to_pretty_json().unwrap_or_default()
}

macro_rules! problems {
    ($($(#[doc = $doc:literal])* $name:ident: $($kind:ident),+;)*) => {$(
        $(#[doc = $doc])*
        pub(super) struct $name;

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                responses(&[$(Kind::$kind),+])
            }
        }
    )*};
}

problems! {
    /// What can go wrong while one link is looked up.
    ReadProblems: UnknownCode, Unavailable;
    /// What can go wrong while a list is made.
    ListProblems: InvalidInput, Unavailable;
    /// What can go wrong while a link is written.
    WriteProblems: BadRequest, BodyTooLarge, UnsupportedMediaType, InvalidInput, Unavailable, OutcomeUnknown;
    /// What can go wrong with an alias.
    AliasProblems: AliasTaken, AliasReserved;
    /// What can go wrong on the way to a target.
    RedirectProblems: UnknownCode, LinkExpired, Unavailable;
    /// What can go wrong wherever the database is asked.
    DatabaseProblems: Unavailable;
}

/// One response for each status; kinds that share one are named together.
fn responses(kinds: &[Kind]) -> BTreeMap<String, RefOr<Response>> {
    let mut titles: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for kind in kinds {
        titles.entry(kind.status().as_str().to_owned()).or_default().push(kind.title());
    }
    titles.into_iter().map(|(status, titles)| (status, RefOr::T(response(&titles.join(" · "))))).collect()
}

fn response(description: &str) -> Response {
    let mut response = Response::new(description);
    let content = Content::new(Some(Ref::from_schema_name("Problem")));
    response.content.insert("application/problem+json".to_owned(), content.into());
    response
}
