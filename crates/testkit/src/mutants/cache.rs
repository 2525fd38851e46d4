//! The cache's guards: lines of its scripts, of the model, and of its reads.

use super::{Mutant, mutant};

/// In the order of the sources. Those of the model are called `model_` and the name of the script's.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "lease_newer_format",
        "An older program overwrites the entry of a newer one.",
        "cache::conformance::redis::schemas::an_entry_of_a_newer_format_is_left_alone_but_not_by_an_invalidation",
    ),
    mutant(
        "lease_window",
        "A load is granted while a writer is between its statement and its commit, and caches the row as it was.",
        "cache::conformance::redis::windows::nobody_loads_in_an_open_window",
    ),
    mutant(
        "lease_future",
        "A lease granted before the clock was set back holds everybody off until then.",
        "cache::conformance::redis::leases::a_lease_from_the_future_holds_nobody_off",
    ),
    mutant(
        "lease_schema",
        "Two programs of different ages overwrite each other's values.",
        "cache::conformance::redis::schemas::programs_of_two_schemas_do_not_fight",
    ),
    mutant(
        "takeover_generation",
        "A load of one schema is stored in an entry of another one.",
        "cache::conformance::redis::schemas::a_load_is_not_stored_under_another_schema",
    ),
    mutant(
        "lease_repeat",
        "A caller whose reply was lost waits for its own lease.",
        "cache::conformance::redis::leases::a_repeated_lease_gets_the_same_grant",
    ),
    mutant(
        "lease_landed",
        "Who asks late loads again what has just landed.",
        "cache::conformance::redis::leases::a_lease_for_what_has_landed_gets_the_value",
    ),
    mutant(
        "refresh_due",
        "A client whose idea of the time is off refreshes a value over and over.",
        "cache::conformance::redis::leases::a_refresh_is_granted_when_it_is_due",
    ),
    mutant(
        "lease_below",
        "Who wants a version loads again although it is there.",
        "cache::conformance::redis::leases::a_lease_below_a_version_is_granted_until_it_is_there",
    ),
    mutant(
        "lease_exclusive",
        "Everybody loads a missing key at once.",
        "cache::conformance::redis::leases::while_one_loads_others_wait",
    ),
    mutant(
        "lease_life",
        "The entry ends during the load, which is then for nothing.",
        "cache::conformance::redis::leases::the_entry_lives_as_long_as_the_load_may_take",
    ),
    mutant(
        "fill_presence",
        "A fill goes on although its entry, and the permission in it, is gone.",
        "cache::conformance::redis::fences::a_fill_finds_no_permission_where_the_entry_is_gone",
    ),
    mutant(
        "fill_generation",
        "A load that began before an eviction and an invalidation is stored in the entry created after them.",
        "cache::conformance::redis::fences::a_load_is_not_stored_in_an_entry_created_after_it",
    ),
    mutant(
        "fill_known_grant",
        "A loader whose lease a failover lost is taken for the one that gets its number next.",
        "cache::conformance::redis::fences::a_grant_that_a_failover_took_back_is_refused",
    ),
    mutant(
        "fill_grant",
        "A slow loader overwrites the value of the one that stole its lease.",
        "cache::conformance::redis::fences::a_slow_loader_does_not_overwrite_a_newer_value",
    ),
    mutant(
        "floor",
        "A value older than an invalidation's version is stored.",
        "cache::conformance::redis::versions::a_value_below_the_floor_is_refused",
    ),
    mutant(
        "fill_replica",
        "The answer of a replica is stored although nobody can say how old it is.",
        "cache::conformance::redis::versions::after_an_invalidation_the_primary_is_wanted_until_replicas_have_followed",
    ),
    mutant(
        "suspect_life",
        "A value loaded while a lapsed writer may still commit lives for its full ttl.",
        "cache::conformance::redis::windows::after_a_lapse_values_live_short",
    ),
    mutant(
        "fill_life",
        "A value whose life is over when it comes is stored.",
        "cache::conformance::redis::lives::a_value_whose_life_is_over_is_not_stored",
    ),
    mutant(
        "floor_raised",
        "An older row, read from a slower replica, takes the place of a newer one.",
        "cache::conformance::redis::versions::a_stored_version_raises_the_floor",
    ),
    mutant(
        "abandon_token",
        "A loader that lost its lease takes the lease of the next one away.",
        "cache::conformance::redis::leases::nobody_abandons_the_lease_of_another",
    ),
    mutant(
        "begin_repeat",
        "A writer whose reply was lost opens two windows and ends one.",
        "cache::conformance::redis::windows::a_repeated_begin_opens_no_second_window",
    ),
    mutant(
        "window_busy",
        "Writers without bound make an entry without bound.",
        "cache::conformance::redis::windows::a_fifth_writer_is_turned_away",
    ),
    mutant(
        "end_own_window",
        "One writer's end takes the windows of all others with it.",
        "cache::conformance::redis::windows::a_writer_ends_its_own_window_only",
    ),
    mutant(
        "suspect_after_lapse",
        "Nothing remembers a writer that died in its window.",
        "cache::conformance::redis::windows::after_a_lapse_values_live_short",
    ),
    mutant(
        "cold_rule",
        "An entry created anew is filled from a replica although it forgot what was invalidated.",
        "cache::conformance::redis::versions::a_created_entry_wants_the_primary",
    ),
    mutant(
        "creation_ordinals",
        "A late duplicate of a lease creates an evicted entry again, and an old load fits.",
        "cache::conformance::redis::fences::a_late_duplicate_of_a_lease_brings_no_permission_back",
    ),
    mutant(
        "void_ordinals",
        "A late duplicate of an invalidation brings the permission of an old load back.",
        "cache::conformance::redis::fences::a_late_duplicate_of_an_invalidation_brings_no_permission_back",
    ),
    mutant(
        "invalidate_generation",
        "The classical stale fill: a load that began before an invalidation is stored after it.",
        "cache::conformance::redis::fences::a_load_that_began_before_an_invalidation_is_not_stored",
    ),
    mutant(
        "invalidate_without_memory",
        "A full Redis refuses to mark an old value as stale, and goes on serving it.",
        "cache::on_redis::an_invalidation_is_done_although_redis_is_out_of_memory",
    ),
    mutant(
        "hard_never_renewed",
        "Each invalidation prolongs the stale value, which never ends.",
        "cache::conformance::redis::lives::a_stale_value_is_never_renewed",
    ),
    mutant(
        "invalidate_stale",
        "An invalidated value is served as if it were good.",
        "cache::conformance::redis::lives::an_invalidated_value_is_stale",
    ),
    mutant(
        "model_lease_newer_format",
        "The same in the model.",
        "cache::conformance::memory::schemas::an_entry_of_a_newer_format_is_left_alone_but_not_by_an_invalidation",
    ),
    mutant(
        "model_lease_window",
        "The same in the model.",
        "cache::conformance::memory::windows::nobody_loads_in_an_open_window",
    ),
    mutant(
        "model_lease_future",
        "The same in the model.",
        "cache::conformance::memory::leases::a_lease_from_the_future_holds_nobody_off",
    ),
    mutant(
        "model_lease_schema",
        "The same in the model.",
        "cache::conformance::memory::schemas::programs_of_two_schemas_do_not_fight",
    ),
    mutant(
        "model_takeover_generation",
        "The same in the model.",
        "cache::conformance::memory::schemas::a_load_is_not_stored_under_another_schema",
    ),
    mutant(
        "model_lease_repeat",
        "The same in the model.",
        "cache::conformance::memory::leases::a_repeated_lease_gets_the_same_grant",
    ),
    mutant(
        "model_lease_landed",
        "The same in the model.",
        "cache::conformance::memory::leases::a_lease_for_what_has_landed_gets_the_value",
    ),
    mutant(
        "model_refresh_due",
        "The same in the model.",
        "cache::conformance::memory::leases::a_refresh_is_granted_when_it_is_due",
    ),
    mutant(
        "model_lease_below",
        "The same in the model.",
        "cache::conformance::memory::leases::a_lease_below_a_version_is_granted_until_it_is_there",
    ),
    mutant(
        "model_lease_exclusive",
        "The same in the model.",
        "cache::conformance::memory::leases::while_one_loads_others_wait",
    ),
    mutant(
        "model_lease_life",
        "The same in the model.",
        "cache::conformance::memory::leases::the_entry_lives_as_long_as_the_load_may_take",
    ),
    mutant(
        "model_fill_generation",
        "The same in the model.",
        "cache::conformance::memory::fences::a_load_is_not_stored_in_an_entry_created_after_it",
    ),
    mutant(
        "model_fill_known_grant",
        "The same in the model.",
        "cache::conformance::memory::fences::a_grant_that_a_failover_took_back_is_refused",
    ),
    mutant(
        "model_fill_grant",
        "The same in the model.",
        "cache::conformance::memory::fences::a_slow_loader_does_not_overwrite_a_newer_value",
    ),
    mutant(
        "model_floor",
        "The same in the model.",
        "cache::conformance::memory::versions::a_value_below_the_floor_is_refused",
    ),
    mutant(
        "model_fill_replica",
        "The same in the model.",
        "cache::conformance::memory::versions::after_an_invalidation_the_primary_is_wanted_until_replicas_have_followed",
    ),
    mutant(
        "model_suspect_life",
        "The same in the model.",
        "cache::conformance::memory::windows::after_a_lapse_values_live_short",
    ),
    mutant(
        "model_fill_life",
        "The same in the model.",
        "cache::conformance::memory::lives::a_value_whose_life_is_over_is_not_stored",
    ),
    mutant(
        "model_floor_raised",
        "The same in the model.",
        "cache::conformance::memory::versions::a_stored_version_raises_the_floor",
    ),
    mutant(
        "model_abandon_token",
        "The same in the model.",
        "cache::conformance::memory::leases::nobody_abandons_the_lease_of_another",
    ),
    mutant(
        "model_begin_repeat",
        "The same in the model.",
        "cache::conformance::memory::windows::a_repeated_begin_opens_no_second_window",
    ),
    mutant(
        "model_window_busy",
        "The same in the model.",
        "cache::conformance::memory::windows::a_fifth_writer_is_turned_away",
    ),
    mutant(
        "model_end_own_window",
        "The same in the model.",
        "cache::conformance::memory::windows::a_writer_ends_its_own_window_only",
    ),
    mutant(
        "model_suspect_after_lapse",
        "The same in the model.",
        "cache::conformance::memory::windows::after_a_lapse_values_live_short",
    ),
    mutant(
        "model_cold_rule",
        "The same in the model.",
        "cache::conformance::memory::versions::a_created_entry_wants_the_primary",
    ),
    mutant(
        "model_creation_ordinals",
        "The same in the model.",
        "cache::conformance::memory::fences::a_late_duplicate_of_a_lease_brings_no_permission_back",
    ),
    mutant(
        "model_void_ordinals",
        "The same in the model.",
        "cache::conformance::memory::fences::a_late_duplicate_of_an_invalidation_brings_no_permission_back",
    ),
    mutant(
        "model_invalidate_generation",
        "The same in the model.",
        "cache::conformance::memory::fences::a_load_that_began_before_an_invalidation_is_not_stored",
    ),
    mutant(
        "model_hard_never_renewed",
        "The same in the model.",
        "cache::conformance::memory::lives::a_stale_value_is_never_renewed",
    ),
    mutant(
        "model_invalidate_stale",
        "The same in the model.",
        "cache::conformance::memory::lives::an_invalidated_value_is_stale",
    ),
    mutant(
        "lease_protocol_token",
        "Under Protocol::Lease a load whose token a delete voided is stored (on Redis).",
        "cache::published::under_lease_an_old_load_is_not_stored_on_redis",
    ),
    mutant(
        "model_lease_protocol_token",
        "Under Protocol::Lease a load whose token a delete voided is stored (in memory).",
        "cache::published::under_lease_an_old_load_is_not_stored_in_memory",
    ),
    mutant(
        "version_protocol_compare",
        "Under Protocol::Version an older row replaces a newer one (on Redis).",
        "cache::published::under_version_an_old_load_is_not_stored_on_redis",
    ),
    mutant(
        "model_version_protocol_compare",
        "Under Protocol::Version an older row replaces a newer one (in memory).",
        "cache::published::under_version_an_old_load_is_not_stored_in_memory",
    ),
    mutant(
        "flight_cut_at_send",
        "A reader that starts when an invalidation was sent joins the load that read the row before the write.",
        "cache::reads::flights::memory::nor_does_one_that_starts_while_it_is_on_its_way",
    ),
    mutant(
        "flight_cut_at_answer",
        "It joins a load that was told of an older value while the invalidation was on its way.",
        "cache::reads::flights::memory::a_reader_after_an_invalidation_joins_no_load_that_was_told_of_an_older_value",
    ),
    mutant(
        "joins_nothing_older",
        "A reader takes the load of another, read before an invalidation that was acknowledged before the reader began.",
        "cache::reads::joining::memory::reader_after_invalidation_refuses_load_past_the_store",
    ),
    mutant(
        "two_loads_of_a_key",
        "Each invalidation of a key starts one more load of it, however many are running.",
        "cache::reads::joining::memory::at_most_two_loads_of_a_key_run_in_a_process",
    ),
    mutant(
        "refused_reader_reads_primary",
        "Readers without a store refuse each other's loads from replicas, and each asks the database for itself.",
        "cache::reads::joining::memory::reader_refused_by_a_replica_load_reads_the_primary",
    ),
    mutant(
        "foreign_type",
        "A step that finds a value of another type under its key fails, and the key never heals.",
        "cache::reads::foreign::invalidation_deletes_a_foreign_type",
    ),
    mutant(
        "foreign_type_read",
        "A reader that finds a value of another type under its key asks the database, as all that come after it.",
        "cache::reads::foreign::read_replaces_a_foreign_type",
    ),
    mutant(
        "load_budget",
        "A load is stored although it took longer than anybody had reckoned with.",
        "cache::reads::fences::memory::a_load_beyond_its_budget_is_returned_and_not_stored",
    ),
    mutant(
        "fill_epoch",
        "A load from before a failover is stored after it, where the invalidation that beats it is lost.",
        "cache::reads::fences::redis::a_load_from_before_a_new_epoch_is_returned_and_not_stored",
    ),
    mutant(
        "dropped_fill_gives_lease_back",
        "Readers wait for the end of a lease whose value will not be stored.",
        "cache::reads::values::memory::a_value_above_the_cap_is_returned_and_not_stored",
    ),
    mutant(
        "failed_load_asks_for_patience",
        "Every waiter repeats the load that has just failed, one after another.",
        "cache::reads::failures::memory::loads_that_keep_failing_are_given_up",
    ),
    mutant(
        "loader_deadline",
        "A load that hangs holds its readers for ever.",
        "cache::reads::failures::memory::a_load_that_takes_too_long_is_an_error",
    ),
    mutant(
        "loader_panic_is_an_error",
        "A panic in the loader is cached as a row that does not exist.",
        "cache::reads::failures::memory::a_panic_is_an_error",
    ),
    mutant(
        "admission_bound",
        "A flushed cache asks the database for every key at once.",
        "cache::reads::limits::memory::no_more_loads_run_at_once_than_allowed",
    ),
    mutant(
        "owed_is_not_read",
        "A process serves the value that it knows it has failed to invalidate.",
        "cache::reads::flights::memory::an_invalidation_that_failed_is_done_later_and_not_read_past",
    ),
    mutant(
        "redrive_before_publish",
        "A Redis that was restarted from a snapshot serves what was invalidated since.",
        "cache::reads::outage::an_invalidation_that_redis_forgot_is_driven_again_before_hits_are_served",
    ),
    mutant(
        "invalidation_is_owed",
        "An invalidation whose answer never came, or whose caller went away, is forgotten.",
        "cache::reads::flights::memory::an_invalidation_whose_caller_went_away_is_done_later",
    ),
    mutant(
        "undecodable_replaced",
        "An entry that its own codec cannot read costs a load at every read, until it ends.",
        "cache::reads::unreadable::memory::undecodable_entry_is_replaced_by_one_load",
    ),
    mutant(
        "cache_log_limited",
        "Entries that cannot be decoded write a line to the log at every read.",
        "cache::reads::unreadable::memory::undecodable_entries_are_logged_once_a_minute",
    ),
    mutant(
        "cache_reads_back",
        "A value is stored that its codec cannot read.",
        "cache::reads::unreadable::memory::value_that_would_not_come_back_is_not_stored",
    ),
    mutant(
        "json_floats_finite",
        "A float that is NaN is stored in JSON as null, and comes back as an absent value.",
        "cache::reads::unreadable::memory::value_that_would_not_come_back_is_not_stored",
    ),
    mutant(
        "cache_codec_id_checked",
        "A codec of the user's passes for one of Evenkeel's.",
        "cache::reads::unreadable::memory::codec_ids_of_evenkeel_are_refused",
    ),
    mutant(
        "cache_encode_caught",
        "A codec that panics takes the load along, and its readers get an error.",
        "cache::reads::hostile::memory::codec_that_panics_costs_the_fill_only",
    ),
    mutant(
        "cache_decode_caught",
        "An entry at which decoding panics ends every read of it.",
        "cache::reads::hostile::memory::entry_at_which_decoding_panics_is_loaded_again",
    ),
    mutant(
        "cache_version_caught",
        "A function of a version that panics passes for a runtime that shuts down.",
        "cache::reads::hostile::memory::version_and_weight_that_panic_cost_their_value_only",
    ),
    mutant(
        "near_weight_caught",
        "A weight that panics ends the read of a good value.",
        "cache::reads::hostile::memory::version_and_weight_that_panic_cost_their_value_only",
    ),
    mutant(
        "cache_spans_shortened",
        "A span without end overflows where it is added to.",
        "cache::reads::extremes::memory::cache_with_extreme_settings_works_or_is_refused",
    ),
    mutant(
        "foreign_type_grant",
        "Under Protocol::Lease a value of another type under a key makes every read a load.",
        "cache::reads::neighbors::published_protocols_replace_a_foreign_type",
    ),
    mutant(
        "cache_hub_sweeps",
        "A program that opens and closes caches remembers each of them.",
        "cache::hub::tests::caches_that_are_gone_are_forgotten",
    ),
];
