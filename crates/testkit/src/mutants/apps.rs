//! The guards of the applications: clicks of shortlink, orders and payments of stockroom.

use super::{Mutant, mutant};

/// Shortlink first.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "clicks_added_once",
        "Clicks that a killed instance has added are added again by the next one.",
        "core::hermetic::store::sqlite_store_passes_the_suite",
    ),
    mutant(
        "clicks_are_checked",
        "A malformed entry of another program in the stream of clicks pauses the counting of all clicks for ever.",
        "web::fleet::clicks::malformed_entry_is_a_dead_letter_and_others_are_counted",
    ),
    mutant(
        "payment_key_once",
        "A request that is repeated with its key is refused, as if it were another payment.",
        "payments::concurrent_requests_with_one_key_are_one_payment",
    ),
    mutant(
        "payment_key_card",
        "A key that is used for another card returns the first payment as if it were the second.",
        "payments::key_protects_from_other_payments_of_the_order",
    ),
    mutant(
        "payment_one_at_a_time",
        "A second payment of an order begins before the gateway has answered the first one: two cards are charged.",
        "payments::key_protects_from_other_payments_of_the_order",
    ),
    mutant(
        "payment_first_answer",
        "The second answer of the gateway is recorded again.",
        "payments::gateway_fails_declines_and_answers_twice",
    ),
    mutant(
        "payments_in_order",
        "A later payment of a product is completed while an earlier one waits for the gateway.",
        "payments::payments_keep_the_order_of_their_product",
    ),
    mutant(
        "payments_retried",
        "A payment is given up after an error of the gateway, which may have charged the card.",
        "payments::gateway_fails_declines_and_answers_twice",
    ),
    mutant(
        "order_ends_unpaid",
        "An order that is being paid is released or expires: its goods return, and it is paid.",
        "payments::payment_and_time_out_exclude_each_other",
    ),
    mutant(
        "overdue_orders_searched",
        "An unpaid order whose time-out Redis has lost never expires.",
        "payments::orders_expire_after_redis_has_lost_their_time_outs",
    ),
    mutant(
        "pending_payments_searched",
        "A payment whose entry Redis has lost is never handled.",
        "search::lost_payments_are_appended_again_on_sqlite",
    ),
    mutant(
        "search_goes_on",
        "An order that cannot be ended keeps all later ones from expiring.",
        "search::search_goes_on_after_a_failing_order_on_sqlite",
    ),
    mutant(
        "search_rotates",
        "A hundred orders whose goods exceed the limit of the stock keep all others from expiring.",
        "search::orders_above_the_limit_do_not_starve_the_search",
    ),
];
