//! The guards of near caches and of what the store tells.

use super::{Mutant, mutant};

/// In the order of the spec's rules.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "near_placeholder",
        "A value that was read before an invalidation comes near after the push that should have kept it out.",
        "cache::reads::near::raced::redis::a_push_between_the_read_and_the_insert_wins",
    ),
    mutant(
        "near_placeholder",
        "The same for a batch, where one published client forgot the check.",
        "cache::reads::near::conformance::memory::an_invalidation_ends_what_a_batch_brought_near",
    ),
    mutant(
        "near_own_step",
        "A writer reads what it has just replaced, because the connection that would tell it stands still.",
        "cache::reads::near::lanes::the_writer_does_not_wait_for_the_other_connection_to_tell_it",
    ),
    mutant(
        "near_empty_push",
        "FLUSHALL is heard as the invalidation of no key, and everything is served on.",
        "cache::reads::near::doubt::an_empty_push_ends_everything",
    ),
    mutant(
        "near_flush_on_epoch",
        "What changed while there was no connection is served until its ttl ends.",
        "cache::reads::near::doubt::a_new_connection_ends_everything",
    ),
    mutant(
        "near_silence",
        "A connection that died without a word is believed for as long as TCP takes.",
        "cache::reads::near::doubt::a_silent_connection_is_not_relied_upon_for_longer_than_it_may_be",
    ),
    mutant(
        "memory_tells",
        "Another process over the embedded store never hears of an invalidation.",
        "cache::reads::near::conformance::memory::an_invalidation_elsewhere_ends_it",
    ),
    mutant(
        "push_wakes",
        "Who waits for somebody else's load sleeps until its timer, although the value is there.",
        "cache::reads::near::wake::redis::waiters_elsewhere_wake_when_the_load_lands",
    ),
    mutant(
        "near_weighs_decoded",
        "A near cache that is bounded by bytes keeps decoded values without counting them.",
        "cache::reads::near::weight::memory::near_bytes_counts_decoded_values",
    ),
];
