//! The OpenAPI document, generated from the handlers.

use super::app::App;
use super::kind::{
    ALREADY_PAID, CAP_EXCEEDED, CONFLICT, INSUFFICIENT_STOCK, KEY_REUSED, NAME_TAKEN, ORDER_CLOSED,
    PAYMENT_IN_PROGRESS, UNKNOWN_ORDER, UNKNOWN_PAYMENT, UNKNOWN_PRODUCT,
};
use super::{api, probes};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use web::{FieldError, Kind, Problem, problems};

/// The document without its routes.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "stockroom",
        description = "Receives goods and reserves them for orders. One rule holds under every locking strategy: a stock is never \
                       negative and never above its limit. Every error is a problem document (RFC 9457). Every response has the \
                       header `X-Short-ID`, the request id in the log; a request may send its own (eight letters or digits)."
    ),
    tags(
        (name = "arrivals", description = "Arrivals"),
        (name = "products", description = "Products and their stock"),
        (name = "orders", description = "Orders"),
        (name = "operations", description = "Health, metrics and audits"),
    ),
    components(schemas(Problem, FieldError))
)]
struct Document;

/// The documented routes.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Document::openapi())
        .merge(api::routes())
        .routes(routes!(web::probes::healthz))
        .routes(routes!(probes::readyz))
        .routes(routes!(web::probes::metrics))
}

problems! {
    /// Problems of looking up a product.
    ProductProblems: UNKNOWN_PRODUCT, Kind::UNAVAILABLE;
    /// Problems of lists.
    ListProblems: Kind::INVALID_INPUT, Kind::UNAVAILABLE;
    /// Problems of adding a product.
    NameProblems: NAME_TAKEN;
    /// Problems of receiving goods.
    ArrivalProblems: CAP_EXCEEDED, CONFLICT;
    /// Problems of creating an order.
    ReserveProblems: UNKNOWN_PRODUCT, INSUFFICIENT_STOCK, CONFLICT;
    /// Problems of releasing an order.
    ReleaseProblems: Kind::INVALID_INPUT, UNKNOWN_ORDER, CAP_EXCEEDED, CONFLICT, PAYMENT_IN_PROGRESS, ALREADY_PAID, Kind::UNAVAILABLE, Kind::OUTCOME_UNKNOWN;
    /// Problems of paying an order.
    PayProblems: UNKNOWN_ORDER, KEY_REUSED, PAYMENT_IN_PROGRESS, ALREADY_PAID, ORDER_CLOSED;
    /// Problems of looking up a payment.
    PaymentProblems: UNKNOWN_PAYMENT, Kind::UNAVAILABLE;
    /// Problems of looking up an order.
    OrderProblems: UNKNOWN_ORDER, Kind::UNAVAILABLE;
    /// Problems of all writes.
    WriteProblems: Kind::BAD_REQUEST, Kind::INVALID_INPUT, Kind::BODY_TOO_LARGE, Kind::UNSUPPORTED_MEDIA_TYPE, Kind::UNAVAILABLE,
        Kind::OUTCOME_UNKNOWN;
    /// Problems of all reads.
    DatabaseProblems: Kind::UNAVAILABLE;
}
