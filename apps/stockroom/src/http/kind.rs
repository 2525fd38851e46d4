//! The kinds of problem that only this service has. Those that every service has are [`Kind`]'s own.

use axum::http::StatusCode;
use web::Kind;

/// A parameter or a field of the body is refused.
pub(crate) const INVALID_INPUT: Kind = Kind::new(
    StatusCode::BAD_REQUEST,
    "invalid-input",
    "Invalid input",
    "The request was understood, but a field is unknown, missing or not acceptable. `errors` names each field and why.",
);

/// No product has this name or number.
pub(crate) const UNKNOWN_PRODUCT: Kind = Kind::new(
    StatusCode::NOT_FOUND,
    "unknown_product",
    "Unknown product",
    "There is no such product. Names are compared letter by letter.",
);

/// No order has this id.
pub(crate) const UNKNOWN_ORDER: Kind =
    Kind::new(StatusCode::NOT_FOUND, "unknown_order", "Unknown order", "There is no order of this id.");

/// The name belongs to another product.
pub(crate) const NAME_TAKEN: Kind = Kind::new(
    StatusCode::CONFLICT,
    "name_taken",
    "Name taken",
    "There is a product of this name already. Use it, or choose another name.",
);

/// There would be more than the cap.
pub(crate) const CAP_EXCEEDED: Kind = Kind::new(
    StatusCode::CONFLICT,
    "cap_exceeded",
    "No room",
    "There would be more of the product than the stockroom takes. Nothing was changed.",
);

/// There would be fewer than none.
pub(crate) const INSUFFICIENT_STOCK: Kind = Kind::new(
    StatusCode::CONFLICT,
    "insufficient_stock",
    "Not enough",
    "There are fewer of the product than the order wants. Nothing was changed.",
);

/// Others were faster.
pub(crate) const CONFLICT: Kind = Kind::new(
    StatusCode::CONFLICT,
    "conflict",
    "Others were faster",
    "Others changed the same product again and again meanwhile. Nothing was changed; try again.",
);

/// All that the documentation page has to explain beside the common ones.
pub(crate) const OWN: &[Kind] =
    &[INVALID_INPUT, UNKNOWN_PRODUCT, UNKNOWN_ORDER, NAME_TAKEN, CAP_EXCEEDED, INSUFFICIENT_STOCK, CONFLICT];
