//! The OpenAPI document: made from the handlers themselves, so it cannot tell of routes that are not there.

use super::app::App;
use super::kind::{
    CAP_EXCEEDED, CONFLICT, INSUFFICIENT_STOCK, INVALID_INPUT, NAME_TAKEN, UNKNOWN_ORDER, UNKNOWN_PRODUCT,
};
use super::{arrivals, audit, orders, probes, products};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use web::{FieldError, Kind, Problem, problems};

/// What the document says beside the routes.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "stockroom",
        description = "Goods in, goods out, and one rule: stock is never below nothing and never above its cap. Every error is a \
                       problem document (RFC 9457). Every answer carries `X-Short-ID`, the name of the request in the log; a request \
                       may choose it (eight letters or digits)."
    ),
    tags(
        (name = "arrivals", description = "Arrivals"),
        (name = "products", description = "Products and their stock"),
        (name = "orders", description = "Reserve goods and release them"),
        (name = "operations", description = "Health, metrics and the auditor"),
    ),
    components(schemas(Problem, FieldError))
)]
struct Document;

/// The documented routes.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(arrivals::create, arrivals::list))
        .routes(routes!(products::add, products::list))
        .routes(routes!(products::read))
        .routes(routes!(orders::create))
        .routes(routes!(orders::read))
        .routes(routes!(orders::release))
        .routes(routes!(audit::audit))
        .routes(routes!(web::probes::healthz))
        .routes(routes!(probes::readyz))
        .routes(routes!(web::probes::metrics))
}

problems! {
    /// What can go wrong while a product is looked up.
    ProductProblems: UNKNOWN_PRODUCT, Kind::UNAVAILABLE;
    /// What can go wrong while a list is made.
    ListProblems: INVALID_INPUT, Kind::UNAVAILABLE;
    /// What can go wrong with the name of a product.
    NameProblems: NAME_TAKEN;
    /// What can go wrong with an arrival.
    ArrivalProblems: CAP_EXCEEDED, CONFLICT;
    /// What can go wrong with an order that is made.
    ReserveProblems: UNKNOWN_PRODUCT, INSUFFICIENT_STOCK, CONFLICT;
    /// What can go wrong with an order that is released.
    ReleaseProblems: INVALID_INPUT, UNKNOWN_ORDER, CAP_EXCEEDED, CONFLICT, Kind::UNAVAILABLE, Kind::OUTCOME_UNKNOWN;
    /// What can go wrong while an order is looked up.
    OrderProblems: UNKNOWN_ORDER, Kind::UNAVAILABLE;
    /// What can go wrong while something is written.
    WriteProblems: Kind::BAD_REQUEST, INVALID_INPUT, Kind::BODY_TOO_LARGE, Kind::UNSUPPORTED_MEDIA_TYPE, Kind::UNAVAILABLE,
        Kind::OUTCOME_UNKNOWN;
    /// What can go wrong wherever the database is asked.
    DatabaseProblems: Kind::UNAVAILABLE;
}
