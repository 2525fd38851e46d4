//! The guards of near caches and of the store's notifications.

use crate::mutants::{Mutant, mutant};

/// In the order of the spec's rules.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "near_placeholder",
        "A value read before an invalidation is kept near after the push that should have prevented it.",
        "cache::reads::near::raced::redis::push_between_read_and_insert_prevents_near_value",
    ),
    mutant(
        "near_placeholder",
        "The same for a batch, where one published client forgot the check.",
        "cache::reads::near::conformance::memory::invalidation_drops_near_value_of_a_batch",
    ),
    mutant(
        "near_own_step",
        "A writer reads what it has just replaced, because the notifying connection is blocked.",
        "cache::reads::near::connections::own_write_drops_near_value_without_notification",
    ),
    mutant(
        "near_empty_push",
        "FLUSHALL is taken for the invalidation of no key, and every value is still served.",
        "cache::reads::near::doubt::flush_notification_drops_all_near_values",
    ),
    mutant(
        "near_flush_on_epoch",
        "A value that changed while there was no connection is served until its ttl ends.",
        "cache::reads::near::doubt::new_connection_drops_all_near_values",
    ),
    mutant(
        "near_silence",
        "A silently dead connection is trusted for as long as TCP takes.",
        "cache::reads::near::doubt::near_hits_end_after_silence_max",
    ),
    mutant(
        "memory_notifies",
        "Another process over the embedded store is never notified of an invalidation.",
        "cache::reads::near::conformance::memory::remote_invalidation_drops_the_near_value",
    ),
    mutant(
        "push_wakes",
        "A waiter for another reader's load sleeps until its timer, although the value is stored.",
        "cache::reads::near::wake::redis::waiters_in_other_processes_wake_when_load_is_stored",
    ),
    mutant(
        "near_weighs_decoded",
        "A near cache bounded by bytes keeps decoded values without counting them.",
        "cache::reads::near::weight::memory::near_bytes_counts_decoded_values",
    ),
];
