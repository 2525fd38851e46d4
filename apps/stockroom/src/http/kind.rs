//! The problem types of this service; [`Kind`] has the common ones.

use axum::http::StatusCode;
use web::Kind;

/// A parameter or a field of the body is invalid.
pub(crate) const INVALID_INPUT: Kind = Kind::new(
    StatusCode::BAD_REQUEST,
    "invalid-input",
    "Invalid input",
    "A field or parameter is unknown, missing or invalid. `errors` lists each with the reason.",
);

/// No product has this name or number.
pub(crate) const UNKNOWN_PRODUCT: Kind = Kind::new(
    StatusCode::NOT_FOUND,
    "unknown_product",
    "Unknown product",
    "The product does not exist. Names are case-sensitive.",
);

/// No order has this id.
pub(crate) const UNKNOWN_ORDER: Kind =
    Kind::new(StatusCode::NOT_FOUND, "unknown_order", "Unknown order", "No order has this id.");

/// Another product has this name.
pub(crate) const NAME_TAKEN: Kind = Kind::new(
    StatusCode::CONFLICT,
    "name_taken",
    "Name taken",
    "A product with this name already exists. Choose another name.",
);

/// The stock would exceed its limit.
pub(crate) const CAP_EXCEEDED: Kind = Kind::new(
    StatusCode::CONFLICT,
    "cap_exceeded",
    "Limit exceeded",
    "The stock of the product would exceed its limit. Nothing was changed. Send a smaller quantity.",
);

/// The stock would be negative.
pub(crate) const INSUFFICIENT_STOCK: Kind = Kind::new(
    StatusCode::CONFLICT,
    "insufficient_stock",
    "Insufficient stock",
    "The stock is smaller than the ordered quantity. Nothing was changed. Order a smaller quantity.",
);

/// Every attempt conflicted with another change.
pub(crate) const CONFLICT: Kind = Kind::new(
    StatusCode::CONFLICT,
    "conflict",
    "Conflict",
    "Every attempt conflicted with another change of the same product. Nothing was changed; try again.",
);

/// All of them, for the documentation.
pub(crate) const OWN: &[Kind] =
    &[INVALID_INPUT, UNKNOWN_PRODUCT, UNKNOWN_ORDER, NAME_TAKEN, CAP_EXCEEDED, INSUFFICIENT_STOCK, CONFLICT];
