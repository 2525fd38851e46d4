//! The guards of the cache that protect the database and the readers, and those of batches.

use crate::mutants::{Mutant, mutant};

/// In the order of the sources.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "spent",
        "An expired value counts as stored, and keeps every reader from loading a new one.",
        "cache::conformance::redis::lives::expired_value_grants_a_new_lease",
    ),
    mutant(
        "spare_life",
        "The value is removed at its ttl, and there is none to serve when the database is away.",
        "cache::conformance::redis::lives::expired_value_is_retained_for_stale_reads",
    ),
    mutant(
        "purge",
        "A revoked permission stays in the store, and a fail-safe serves it.",
        "cache::conformance::redis::lives::purged_value_is_never_served",
    ),
    mutant(
        "spent_at_once",
        "A reader whose clock is behind is served a value that was invalidated a moment ago.",
        "cache::conformance::redis::lives::value_with_zero_retention_expires_at_once",
    ),
    mutant(
        "model_spent",
        "The same in the model.",
        "cache::conformance::memory::lives::expired_value_grants_a_new_lease",
    ),
    mutant(
        "model_spare_life",
        "The same in the model.",
        "cache::conformance::memory::lives::expired_value_is_retained_for_stale_reads",
    ),
    mutant("model_purge", "The same in the model.", "cache::conformance::memory::lives::purged_value_is_never_served"),
    mutant(
        "model_spent_at_once",
        "The same in the model.",
        "cache::conformance::memory::lives::value_with_zero_retention_expires_at_once",
    ),
    mutant(
        "fail_safe_bound",
        "While the database is away the old value never expires: each failed load extends its entry.",
        "fail_safe::memory::fail_safe_never_extends_a_value",
    ),
    mutant(
        "rescued_do_not_wait",
        "A reader with a stale value to serve waits for the delay after a failed load.",
        "fail_safe::memory::repeatedly_failing_load_does_not_delay_readers",
    ),
    mutant(
        "waiters_bound",
        "A database that hangs collects every request of the program.",
        "waiting::memory::reader_above_waiters_max_is_rejected",
    ),
    mutant(
        "wait_max_for_calls",
        "A loader that hangs also hangs all its waiters.",
        "waiting::memory::reader_loads_for_itself_after_wait_max",
    ),
    mutant(
        "store_timeout",
        "A reader of a silent Redis waits for the link's whole timeout.",
        "outage::read_of_silent_redis_ends_after_store_timeout",
    ),
    mutant(
        "breaker_opens",
        "Every reader of a silent Redis waits for its own timeout.",
        "breaker::memory::breaker_opens_after_three_unanswered_reads",
    ),
    mutant(
        "breaker_one_probe",
        "When the breaker's pause is over, all readers wait for a Redis that is still silent.",
        "breaker::memory::half_open_breaker_lets_one_reader_probe",
    ),
    mutant(
        "breaker_epoch",
        "Failures of an old connection keep readers from a new one.",
        "outage::new_connection_closes_the_breaker",
    ),
    mutant(
        "invalidations_pass_breaker",
        "An invalidation is rejected because reads had no reply, and other processes serve the old value.",
        "breaker::memory::open_breaker_does_not_block_invalidations",
    ),
    mutant(
        "bypassed_reads",
        "Reads are served from Redis although an operator has bypassed them.",
        "switches::memory::bypassed_reads_do_not_use_the_store",
    ),
    mutant(
        "bypassed_fill",
        "A load in progress is stored after fills were bypassed.",
        "switches::memory::load_is_not_stored_once_fills_are_bypassed",
    ),
    mutant(
        "batch_one_write",
        "A page of a hundred rows costs a hundred round trips.",
        "batches::batch_of_hits_is_one_socket_write",
    ),
    mutant(
        "batch_joins_calls",
        "A batch asks the database again for rows that this process is already loading.",
        "batches::memory::batch_waits_for_load_longer_than_its_lease",
    ),
    mutant(
        "batch_loads_own_first",
        "Two batches that wait for each other's keys before they load their own wait forever.",
        "batches::memory::batch_loads_its_own_keys_before_waiting",
    ),
    mutant(
        "batch_one_run",
        "A page of a hundred rows costs the database a hundred queries.",
        "batches::memory::batch_loads_missing_keys_in_one_call",
    ),
    mutant(
        "batch_fails_per_key",
        "One failing key fails all other keys of its batch.",
        "batches::memory::failed_batch_load_fails_only_its_keys",
    ),
];
