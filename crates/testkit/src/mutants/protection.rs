//! The guards of the cache that protect the database and the readers, and those of batches.

use super::{Mutant, mutant};

/// In the order of the sources.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "spent",
        "A value past its end counts as landed, and keeps everybody from loading a new one.",
        "cache::conformance::redis::lives::a_spent_value_is_loaded_again",
    ),
    mutant(
        "spare_life",
        "The value goes with its ttl, and there is none to serve when the database is away.",
        "cache::conformance::redis::lives::a_spent_value_is_kept_for_those_whose_load_fails",
    ),
    mutant(
        "purge",
        "A revoked permission stays in the store, and a fail-safe serves it.",
        "cache::conformance::redis::lives::a_purged_value_is_gone",
    ),
    mutant(
        "spent_at_once",
        "A reader whose clock is behind is served what was invalidated a moment ago.",
        "cache::conformance::redis::lives::a_value_kept_for_no_time_is_spent_at_once",
    ),
    mutant("model_spent", "The same in the model.", "cache::conformance::memory::lives::a_spent_value_is_loaded_again"),
    mutant(
        "model_spare_life",
        "The same in the model.",
        "cache::conformance::memory::lives::a_spent_value_is_kept_for_those_whose_load_fails",
    ),
    mutant("model_purge", "The same in the model.", "cache::conformance::memory::lives::a_purged_value_is_gone"),
    mutant(
        "model_spent_at_once",
        "The same in the model.",
        "cache::conformance::memory::lives::a_value_kept_for_no_time_is_spent_at_once",
    ),
    mutant(
        "fail_safe_bound",
        "While the database is away the old value is served for ever: each failed load keeps its entry.",
        "cache::reads::fail_safe::memory::it_is_never_renewed",
    ),
    mutant(
        "rescued_do_not_wait",
        "A reader with something to serve waits for the patience after somebody's failure.",
        "cache::reads::fail_safe::memory::nobody_waits_for_a_load_that_keeps_failing",
    ),
    mutant(
        "waiters_bound",
        "A database that hangs collects every request of the program.",
        "cache::reads::waiting::memory::one_reader_too_many_is_turned_away",
    ),
    mutant(
        "wait_max_for_flights",
        "A loader that hangs takes everybody along who waits for it.",
        "cache::reads::waiting::memory::a_reader_that_has_waited_long_enough_loads_for_itself",
    ),
    mutant(
        "store_timeout",
        "A reader of a silent Redis waits for the link's whole time-out.",
        "cache::reads::outage::a_reader_of_a_silent_redis_does_not_wait_for_the_links_time_out",
    ),
    mutant(
        "breaker_opens",
        "Every reader of a silent Redis waits for its own time-out.",
        "cache::reads::breaker::memory::after_three_silent_reads_the_store_is_left_alone",
    ),
    mutant(
        "breaker_one_probe",
        "When the breaker's pause is over, all readers wait for a Redis that is still silent.",
        "cache::reads::breaker::memory::one_reader_tries_and_the_others_do_not_wait",
    ),
    mutant(
        "breaker_epoch",
        "What an old connection did keeps readers from a new one.",
        "cache::reads::outage::a_new_connection_closes_the_breaker",
    ),
    mutant(
        "invalidations_pass_breaker",
        "An invalidation is refused because reads had no answer, and other processes serve the old value.",
        "cache::reads::breaker::memory::an_invalidation_is_sent_whatever_the_breaker_says",
    ),
    mutant(
        "bypassed_reads",
        "An operator who distrusts what is in Redis is served from it.",
        "cache::reads::switches::memory::with_reads_bypassed_nothing_comes_from_the_store",
    ),
    mutant(
        "bypassed_fill",
        "What was loading when fills were switched off is stored.",
        "cache::reads::switches::memory::a_load_under_which_fills_are_bypassed_is_not_stored",
    ),
    mutant(
        "batch_one_write",
        "A page of a hundred rows costs a hundred round trips.",
        "cache::reads::batches::a_batch_of_hits_is_one_write",
    ),
    mutant(
        "batch_joins_flights",
        "A batch asks the database again for what this process is loading already.",
        "cache::reads::batches::memory::a_batch_waits_for_a_load_that_is_longer_than_its_lease",
    ),
    mutant(
        "batch_loads_own_first",
        "Two batches that wait for each other's keys before they load their own wait for ever.",
        "cache::reads::batches::memory::a_batch_loads_its_own_keys_before_it_waits_for_others",
    ),
    mutant(
        "batch_one_run",
        "A page of a hundred rows costs the database a hundred queries.",
        "cache::reads::batches::memory::what_is_missing_is_loaded_in_one_run",
    ),
    mutant(
        "batch_fails_per_key",
        "One key that fails takes the answers of all others along.",
        "cache::reads::batches::memory::a_failed_run_fails_its_own_keys_and_no_others",
    ),
];
