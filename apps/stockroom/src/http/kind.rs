//! The problem types of this service; [`Kind`] has the common ones.

use web::Kind;

web::kinds! {
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
    /// No payment has this id.
    pub(crate) UNKNOWN_PAYMENT = NOT_FOUND, "unknown_payment", "Unknown payment",
        "No payment has this id.";
    /// The key belongs to another payment.
    pub(crate) KEY_REUSED = CONFLICT, "key_reused", "Key reused",
        "The `Idempotency-Key` belongs to an earlier payment of this order with another card. Nothing was changed. Send another key.";
    /// Another payment waits for the gateway.
    pub(crate) PAYMENT_IN_PROGRESS = CONFLICT, "payment_in_progress", "Payment in progress",
        "A payment of this order waits for the gateway. Nothing was changed. Read the order again in a moment.";
    /// The order is paid.
    pub(crate) ALREADY_PAID = CONFLICT, "already_paid", "Already paid",
        "The order is paid. Nothing was changed.";
    /// The order is released or has expired.
    pub(crate) ORDER_CLOSED = CONFLICT, "order_closed", "Order closed",
        "The order was released, or was not paid in time, so it cannot be paid. Nothing was changed. Create a new order.";
    /// Every attempt conflicted with another change.
    pub(crate) CONFLICT = CONFLICT, "conflict", "Conflict",
        "Every attempt conflicted with another change of the same product. Nothing was changed; try again.";
}

/// All of them, for the documentation.
pub(crate) const OWN: &[Kind] = &[
    Kind::INVALID_INPUT,
    UNKNOWN_PRODUCT,
    UNKNOWN_ORDER,
    UNKNOWN_PAYMENT,
    NAME_TAKEN,
    CAP_EXCEEDED,
    INSUFFICIENT_STOCK,
    KEY_REUSED,
    PAYMENT_IN_PROGRESS,
    ALREADY_PAID,
    ORDER_CLOSED,
    CONFLICT,
];
