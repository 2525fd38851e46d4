//! The guards of the cache's reads and invalidations, as users see them.

use crate::mutants::{Mutant, mutant};

/// In the order of the sources.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "single_flight_cut_at_send",
        "A reader that starts when an invalidation was sent joins the load that read the row before the write.",
        "single_flight::memory::read_during_invalidation_does_not_join_earlier_load",
    ),
    mutant(
        "single_flight_cut_at_answer",
        "A reader joins a load that found an older value while the invalidation was in flight.",
        "single_flight::memory::read_after_invalidation_reply_does_not_join_older_load",
    ),
    mutant(
        "named_invalidation_uses_open_cache",
        "After an operator's invalidation, a reader of the same process joins the load that read the row before it.",
        "staleness::operator::memory::read_after_operator_purge_does_not_join_earlier_load",
    ),
    mutant(
        "joins_nothing_older",
        "A reader accepts another one's load from before an invalidation acknowledged before the reader began.",
        "joining::memory::read_after_invalidation_rejects_load_past_the_store",
    ),
    mutant(
        "two_loads_of_a_key",
        "Each invalidation of a key starts one more load of it, however many are running.",
        "joining::memory::at_most_two_loads_of_a_key_run_in_a_process",
    ),
    mutant(
        "refused_reader_reads_primary",
        "Readers without a store reject each other's loads from replicas, and each asks the database.",
        "joining::memory::reader_that_rejects_replica_load_reads_the_primary",
    ),
    mutant(
        "foreign_type",
        "A step that finds a value of another type under its key fails, and the key is never repaired.",
        "foreign::invalidation_deletes_a_foreign_type",
    ),
    mutant(
        "foreign_type_read",
        "A value of another type under a key sends every reader to the database.",
        "foreign::read_replaces_a_foreign_type",
    ),
    mutant(
        "load_budget",
        "A load is stored although it exceeded its budget.",
        "fences::memory::load_beyond_its_budget_is_returned_but_not_stored",
    ),
    mutant(
        "fill_epoch",
        "A load from before a failover is stored after it, where its invalidation is lost.",
        "fences::redis::load_from_earlier_epoch_is_returned_but_not_stored",
    ),
    mutant(
        "dropped_fill_gives_lease_back",
        "Readers wait for the end of a lease whose value will not be stored.",
        "cache::reads::values::memory::value_above_the_size_cap_is_returned_but_not_stored",
    ),
    mutant(
        "failed_load_asks_for_pause",
        "Every waiter repeats the load that has just failed, one after another.",
        "failures::memory::repeatedly_failing_load_returns_failing",
    ),
    mutant(
        "loader_deadline",
        "A load that hangs holds its readers forever.",
        "failures::memory::load_that_exceeds_its_timeout_is_an_error",
    ),
    mutant(
        "loader_panic_is_an_error",
        "A panic in the loader is cached as a row that does not exist.",
        "failures::memory::loader_panic_becomes_an_error",
    ),
    mutant(
        "admission_bound",
        "A flushed cache asks the database for every key at once.",
        "limits::memory::concurrent_loads_never_exceed_loads_max",
    ),
    mutant(
        "pending_key_is_not_read",
        "A process serves a value whose invalidation failed and is pending.",
        "single_flight::memory::failed_invalidation_is_replayed_and_blocks_hits",
    ),
    mutant(
        "replay_before_publish",
        "A Redis restarted from a snapshot serves values that were invalidated since.",
        "outage::lost_invalidation_is_replayed_before_hits",
    ),
    mutant(
        "invalidation_is_pending",
        "An invalidation without a reply, or with a dropped caller, is forgotten.",
        "single_flight::memory::dropped_invalidation_is_completed_later",
    ),
    mutant(
        "undecodable_replaced",
        "An entry that its own codec cannot read costs a load at every read, until it ends.",
        "unreadable::memory::undecodable_entry_is_replaced_by_one_load",
    ),
    mutant(
        "cache_log_limited",
        "Entries that cannot be decoded write a line to the log at every read.",
        "unreadable::memory::undecodable_entries_are_logged_once_a_minute",
    ),
    mutant(
        "cache_reads_back",
        "A value is stored that its codec cannot read.",
        "unreadable::memory::value_that_does_not_decode_is_not_stored",
    ),
    mutant(
        "json_floats_finite",
        "A NaN is stored in JSON as null, and decoded as an absent value.",
        "unreadable::memory::value_that_does_not_decode_is_not_stored",
    ),
    mutant(
        "cache_codec_id_checked",
        "A user's codec has an id that is reserved for Evenkeel.",
        "unreadable::memory::codec_ids_reserved_for_evenkeel_are_rejected",
    ),
    mutant(
        "cache_encode_caught",
        "A codec that panics fails the load, and its readers get an error.",
        "cache::reads::hostile::memory::panicking_codec_fails_only_the_fill",
    ),
    mutant(
        "cache_decode_caught",
        "An entry that panics its decoder fails every read of it.",
        "cache::reads::hostile::memory::entry_that_panics_the_decoder_is_reloaded",
    ),
    mutant(
        "cache_version_caught",
        "A panic in the version function is reported as a runtime that shuts down.",
        "cache::reads::hostile::memory::panicking_version_or_weight_affects_only_its_value",
    ),
    mutant(
        "near_weight_caught",
        "A panic in the weight function fails the read of a good value.",
        "cache::reads::hostile::memory::panicking_version_or_weight_affects_only_its_value",
    ),
    mutant(
        "cache_spans_shortened",
        "An endless span overflows in an addition.",
        "cache::reads::extremes::memory::cache_with_extreme_settings_works_or_is_rejected",
    ),
    mutant(
        "foreign_type_grant",
        "Under Protocol::Lease a value of another type under a key makes every read a load.",
        "neighbors::published_protocols_replace_a_foreign_type",
    ),
    mutant(
        "cache_hub_sweeps",
        "A program that opens and closes caches retains each of them.",
        "cache::store::hub::tests::closed_caches_are_removed",
    ),
    mutant(
        "cache_budget_logged",
        "A query that is always slower than the load budget is never cached, and only a metric shows it.",
        "refusals::memory::load_over_its_budget_is_logged_once",
    ),
];
