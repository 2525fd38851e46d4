//! The guards of limits: lines of the scripts, and their copies in the model.

use super::{Mutant, mutant};

/// In the order of the sources. Those of the model, which also decides without Redis, follow.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "limit_all_levels",
        "Only the last level decides, and the others are taken below nothing.",
        "limit::on_redis::refused_call_takes_tokens_of_no_level",
    ),
    mutant(
        "limit_refusal_stores_set_back",
        "After the clock was set back, a bucket that refuses is not refilled until the clock has reached its old time.",
        "limit::on_redis::refusal_stores_a_clock_that_was_set_back",
    ),
    mutant(
        "limit_set_back",
        "A clock that is set back by an hour makes every bucket refuse for an hour.",
        "limit::on_redis::clock_set_back_keeps_the_debt_of_a_rate",
    ),
    mutant(
        "limit_quota_changed",
        "A program with a new rate finds its buckets full, or empty for days.",
        "limit::on_redis::changed_rate_keeps_the_debt_in_tokens",
    ),
    mutant(
        "limit_debit_at_its_time",
        "The tokens of a call that waits for another level are refilled before it runs, and admitted a second time.",
        "limit::on_redis::levels_are_debited_for_the_time_of_execution",
    ),
    mutant(
        "limit_window_set_back",
        "A clock that is set back by an hour makes every window refuse for an hour.",
        "limit::on_redis::clock_set_back_moves_a_window_back",
    ),
    mutant(
        "limit_window_changed",
        "The slots of another length are in another century: the window refuses for ever, or has forgotten its tokens.",
        "limit::on_redis::changed_window_keeps_its_tokens",
    ),
    mutant(
        "limit_window_oldest_slot",
        "An interval that begins within a slot is admitted that slot's tokens again.",
        "limit::on_redis::interval_between_slots_admits_no_more_than_the_window",
    ),
    mutant(
        "limit_instances_end",
        "Instances that have ended keep their shares.",
        "limit::on_redis::instances_are_counted_for_a_minute",
    ),
    mutant(
        "store_timeout",
        "A call waits for a silent Redis as long as every other command.",
        "limit::outage::calls_to_a_silent_redis_are_decided_within_fifty_ms",
    ),
    mutant("model_limit_all_levels", "The same in the model.", "models::limit::refused_call_takes_tokens_of_no_level"),
    mutant(
        "model_limit_refusal_stores_set_back",
        "The same in the model.",
        "models::limit::refusal_stores_a_clock_that_was_set_back",
    ),
    mutant(
        "model_limit_quota_changed",
        "The same in the model.",
        "models::limit::changed_rate_keeps_the_debt_in_tokens",
    ),
    mutant(
        "model_limit_debit_at_its_time",
        "The same in the model.",
        "models::limit::levels_are_debited_for_the_time_of_execution",
    ),
    mutant(
        "model_limit_window_set_back",
        "The same in the model.",
        "models::limit::clock_set_back_moves_a_window_back",
    ),
    mutant("model_limit_window_changed", "The same in the model.", "models::limit::changed_window_keeps_its_tokens"),
    mutant(
        "model_limit_window_oldest_slot",
        "The same in the model.",
        "models::limit::interval_between_slots_admits_no_more_than_the_window",
    ),
    mutant("model_limit_instances_end", "The same in the model.", "models::limit::instances_are_counted_for_a_minute"),
];
