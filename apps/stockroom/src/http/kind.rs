//! The problem types of this service; [`Kind`] has the common ones.

use web::Kind;

web::kinds! {
    /// A parameter or a field of the body is invalid.
    pub(crate) INVALID_INPUT = BAD_REQUEST, "invalid-input", "Invalid input",
        "A field or parameter is unknown, missing or invalid. `errors` lists each with the reason.";
    /// No product has this name or number.
    pub(crate) UNKNOWN_PRODUCT = NOT_FOUND, "unknown_product", "Unknown product",
        "The product does not exist. Names are case-sensitive.";
    /// No order has this id.
    pub(crate) UNKNOWN_ORDER = NOT_FOUND, "unknown_order", "Unknown order",
        "No order has this id.";
    /// Another product has this name.
    pub(crate) NAME_TAKEN = CONFLICT, "name_taken", "Name taken",
        "A product with this name already exists. Choose another name.";
    /// The stock would exceed its limit.
    pub(crate) CAP_EXCEEDED = CONFLICT, "cap_exceeded", "Limit exceeded",
        "The stock of the product would exceed its limit. Nothing was changed. Send a smaller quantity.";
    /// The stock would be negative.
    pub(crate) INSUFFICIENT_STOCK = CONFLICT, "insufficient_stock", "Insufficient stock",
        "The stock is smaller than the ordered quantity. Nothing was changed. Order a smaller quantity.";
    /// Every attempt conflicted with another change.
    pub(crate) CONFLICT = CONFLICT, "conflict", "Conflict",
        "Every attempt conflicted with another change of the same product. Nothing was changed; try again.";
}

/// All of them, for the documentation.
pub(crate) const OWN: &[Kind] =
    &[INVALID_INPUT, UNKNOWN_PRODUCT, UNKNOWN_ORDER, NAME_TAKEN, CAP_EXCEEDED, INSUFFICIENT_STOCK, CONFLICT];
