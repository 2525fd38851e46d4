//! The guards of the cache's steps: lines of its scripts and of the model.

use crate::mutants::{Mutant, mutant};

/// In the order of the sources. Those of the model are called `model_` and the name of the script's.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "lease_newer_format",
        "An older program overwrites the entry of a newer one.",
        "cache::conformance::redis::schemas::entry_of_a_newer_format_is_only_invalidated",
    ),
    mutant(
        "lease_window",
        "A load is granted while a writer is between its statement and its commit, and caches the row as it was.",
        "cache::conformance::redis::windows::open_window_grants_no_lease",
    ),
    mutant(
        "lease_future",
        "A lease granted before the clock was set back blocks all loads until then.",
        "cache::conformance::redis::leases::lease_from_the_future_does_not_block_loads",
    ),
    mutant(
        "lease_schema",
        "Two programs of different versions overwrite each other's values.",
        "cache::conformance::redis::schemas::programs_with_two_schemas_keep_each_others_entries",
    ),
    mutant(
        "takeover_generation",
        "A load of one schema is stored in an entry of another one.",
        "cache::conformance::redis::schemas::fill_under_another_schema_is_rejected",
    ),
    mutant(
        "lease_repeat",
        "A caller whose reply was lost waits for its own lease.",
        "cache::conformance::redis::leases::repeated_lease_returns_the_same_grant",
    ),
    mutant(
        "lease_already_stored",
        "A late reader loads a value again that has just been stored.",
        "cache::conformance::redis::leases::lease_after_fill_returns_the_value",
    ),
    mutant(
        "refresh_due",
        "A client with a wrong clock refreshes a value over and over.",
        "cache::conformance::redis::leases::refresh_is_granted_only_when_due",
    ),
    mutant(
        "lease_below",
        "A reader that needs a version loads it again although it is stored.",
        "cache::conformance::redis::leases::lease_with_minimum_version_is_granted_until_stored",
    ),
    mutant(
        "lease_exclusive",
        "Every reader loads a missing key at once.",
        "cache::conformance::redis::leases::lease_is_granted_to_one_loader_at_a_time",
    ),
    mutant(
        "lease_life",
        "The entry expires during the load, whose value is then not stored.",
        "cache::conformance::redis::leases::lease_extends_entry_ttl_to_the_load_budget",
    ),
    mutant(
        "fill_presence",
        "A fill succeeds although its entry, and the grant in it, is gone.",
        "cache::conformance::redis::fences::fill_is_rejected_after_entry_was_evicted",
    ),
    mutant(
        "fill_generation",
        "A load that began before an eviction and an invalidation is stored in the entry created after them.",
        "cache::conformance::redis::fences::recreated_entry_rejects_fill_from_earlier_load",
    ),
    mutant(
        "fill_known_grant",
        "A loader whose lease a failover lost is taken for the next one with its ordinal.",
        "cache::conformance::redis::fences::fill_with_grant_lost_in_failover_is_rejected",
    ),
    mutant(
        "fill_grant",
        "A slow loader overwrites the value of the one that stole its lease.",
        "cache::conformance::redis::fences::slow_fill_does_not_overwrite_newer_value",
    ),
    mutant(
        "floor",
        "A value older than an invalidation's version is stored.",
        "cache::conformance::redis::versions::fill_below_the_version_floor_is_rejected",
    ),
    mutant(
        "fill_replica",
        "A replica's row is stored although its age is unknown.",
        "cache::conformance::redis::versions::invalidation_requires_primary_read_for_replica_lag",
    ),
    mutant(
        "suspect_life",
        "A value loaded while a writer with an expired window may still commit lives for its full ttl.",
        "cache::conformance::redis::windows::value_after_expired_window_gets_short_ttl",
    ),
    mutant(
        "fill_life",
        "A value is stored after its ttl.",
        "cache::conformance::redis::lives::fill_after_the_value_ttl_is_rejected",
    ),
    mutant(
        "floor_raised",
        "An older row, read from a slower replica, takes the place of a newer one.",
        "cache::conformance::redis::versions::stored_version_raises_the_floor",
    ),
    mutant(
        "abandon_token",
        "A loader that lost its lease removes the lease of the next one.",
        "cache::conformance::redis::leases::abandon_leaves_lease_of_another_owner",
    ),
    mutant(
        "begin_repeat",
        "A writer whose reply was lost opens two windows and ends one.",
        "cache::conformance::redis::windows::repeated_begin_opens_one_window",
    ),
    mutant(
        "window_busy",
        "An unlimited number of writers makes an entry of unlimited size.",
        "cache::conformance::redis::windows::fifth_concurrent_window_is_rejected",
    ),
    mutant(
        "end_own_window",
        "One writer's end closes the windows of all others.",
        "cache::conformance::redis::windows::end_closes_only_its_own_window",
    ),
    mutant(
        "suspect_after_expiry",
        "A writer that died in its window leaves no mark.",
        "cache::conformance::redis::windows::value_after_expired_window_gets_short_ttl",
    ),
    mutant(
        "suspect_on_replicas",
        "A replica is read in place of a row that a writer with an expired window committed late.",
        "cache::conformance::redis::windows::expired_window_requires_primary_read_for_replica_lag",
    ),
    mutant(
        "unknown_invalidation",
        "An entry without a record of its last invalidation requires the primary for ever.",
        "cache::conformance::redis::versions::created_entry_requires_a_primary_read",
    ),
    mutant(
        "invalidated_at",
        "A replica that lacks the invalidated write is read at once.",
        "cache::conformance::redis::versions::invalidation_requires_primary_read_for_replica_lag",
    ),
    mutant(
        "creation_ordinals",
        "A late duplicate of a lease creates an evicted entry again, and an old load fits.",
        "cache::conformance::redis::fences::duplicate_lease_does_not_revive_a_rejected_fill",
    ),
    mutant(
        "void_ordinals",
        "A late duplicate of an invalidation makes the grant of an old load valid again.",
        "cache::conformance::redis::fences::duplicate_invalidation_does_not_revive_a_rejected_fill",
    ),
    mutant(
        "invalidate_generation",
        "The classical stale fill: a load that began before an invalidation is stored after it.",
        "cache::conformance::redis::fences::invalidation_rejects_fill_from_earlier_load",
    ),
    mutant(
        "hard_never_renewed",
        "Each invalidation extends the stale value, which never expires.",
        "cache::conformance::redis::lives::failed_load_does_not_extend_a_stale_value",
    ),
    mutant(
        "invalidate_stale",
        "An invalidated value is served as if it were good.",
        "cache::conformance::redis::lives::invalidated_value_is_stale",
    ),
    mutant(
        "model_lease_newer_format",
        "The same in the model.",
        "cache::conformance::memory::schemas::entry_of_a_newer_format_is_only_invalidated",
    ),
    mutant(
        "model_lease_window",
        "The same in the model.",
        "cache::conformance::memory::windows::open_window_grants_no_lease",
    ),
    mutant(
        "model_lease_future",
        "The same in the model.",
        "cache::conformance::memory::leases::lease_from_the_future_does_not_block_loads",
    ),
    mutant(
        "model_lease_schema",
        "The same in the model.",
        "cache::conformance::memory::schemas::programs_with_two_schemas_keep_each_others_entries",
    ),
    mutant(
        "model_takeover_generation",
        "The same in the model.",
        "cache::conformance::memory::schemas::fill_under_another_schema_is_rejected",
    ),
    mutant(
        "model_lease_repeat",
        "The same in the model.",
        "cache::conformance::memory::leases::repeated_lease_returns_the_same_grant",
    ),
    mutant(
        "model_lease_already_stored",
        "The same in the model.",
        "cache::conformance::memory::leases::lease_after_fill_returns_the_value",
    ),
    mutant(
        "model_refresh_due",
        "The same in the model.",
        "cache::conformance::memory::leases::refresh_is_granted_only_when_due",
    ),
    mutant(
        "model_lease_below",
        "The same in the model.",
        "cache::conformance::memory::leases::lease_with_minimum_version_is_granted_until_stored",
    ),
    mutant(
        "model_lease_exclusive",
        "The same in the model.",
        "cache::conformance::memory::leases::lease_is_granted_to_one_loader_at_a_time",
    ),
    mutant(
        "model_lease_life",
        "The same in the model.",
        "cache::conformance::memory::leases::lease_extends_entry_ttl_to_the_load_budget",
    ),
    mutant(
        "model_fill_generation",
        "The same in the model.",
        "cache::conformance::memory::fences::recreated_entry_rejects_fill_from_earlier_load",
    ),
    mutant(
        "model_fill_known_grant",
        "The same in the model.",
        "cache::conformance::memory::fences::fill_with_grant_lost_in_failover_is_rejected",
    ),
    mutant(
        "model_fill_grant",
        "The same in the model.",
        "cache::conformance::memory::fences::slow_fill_does_not_overwrite_newer_value",
    ),
    mutant(
        "model_floor",
        "The same in the model.",
        "cache::conformance::memory::versions::fill_below_the_version_floor_is_rejected",
    ),
    mutant(
        "model_fill_replica",
        "The same in the model.",
        "cache::conformance::memory::versions::invalidation_requires_primary_read_for_replica_lag",
    ),
    mutant(
        "model_suspect_life",
        "The same in the model.",
        "cache::conformance::memory::windows::value_after_expired_window_gets_short_ttl",
    ),
    mutant(
        "model_fill_life",
        "The same in the model.",
        "cache::conformance::memory::lives::fill_after_the_value_ttl_is_rejected",
    ),
    mutant(
        "model_floor_raised",
        "The same in the model.",
        "cache::conformance::memory::versions::stored_version_raises_the_floor",
    ),
    mutant(
        "model_abandon_token",
        "The same in the model.",
        "cache::conformance::memory::leases::abandon_leaves_lease_of_another_owner",
    ),
    mutant(
        "model_begin_repeat",
        "The same in the model.",
        "cache::conformance::memory::windows::repeated_begin_opens_one_window",
    ),
    mutant(
        "model_window_busy",
        "The same in the model.",
        "cache::conformance::memory::windows::fifth_concurrent_window_is_rejected",
    ),
    mutant(
        "model_end_own_window",
        "The same in the model.",
        "cache::conformance::memory::windows::end_closes_only_its_own_window",
    ),
    mutant(
        "model_suspect_after_expiry",
        "The same in the model.",
        "cache::conformance::memory::windows::value_after_expired_window_gets_short_ttl",
    ),
    mutant(
        "model_suspect_on_replicas",
        "The same in the model.",
        "cache::conformance::memory::windows::expired_window_requires_primary_read_for_replica_lag",
    ),
    mutant(
        "model_unknown_invalidation",
        "The same in the model.",
        "cache::conformance::memory::versions::created_entry_requires_a_primary_read",
    ),
    mutant(
        "model_invalidated_at",
        "The same in the model.",
        "cache::conformance::memory::versions::invalidation_requires_primary_read_for_replica_lag",
    ),
    mutant(
        "model_creation_ordinals",
        "The same in the model.",
        "cache::conformance::memory::fences::duplicate_lease_does_not_revive_a_rejected_fill",
    ),
    mutant(
        "model_void_ordinals",
        "The same in the model.",
        "cache::conformance::memory::fences::duplicate_invalidation_does_not_revive_a_rejected_fill",
    ),
    mutant(
        "model_invalidate_generation",
        "The same in the model.",
        "cache::conformance::memory::fences::invalidation_rejects_fill_from_earlier_load",
    ),
    mutant(
        "model_hard_never_renewed",
        "The same in the model.",
        "cache::conformance::memory::lives::failed_load_does_not_extend_a_stale_value",
    ),
    mutant(
        "model_invalidate_stale",
        "The same in the model.",
        "cache::conformance::memory::lives::invalidated_value_is_stale",
    ),
    mutant(
        "lease_protocol_token",
        "Under Protocol::Lease a load whose token a delete voided is stored (on Redis).",
        "cache::published::lease_protocol_rejects_stale_fill_on_redis",
    ),
    mutant(
        "model_lease_protocol_token",
        "Under Protocol::Lease a load whose token a delete voided is stored (in memory).",
        "cache::published::lease_protocol_rejects_stale_fill_in_memory",
    ),
    mutant(
        "version_protocol_compare",
        "Under Protocol::Version an older row replaces a newer one (on Redis).",
        "cache::published::version_protocol_rejects_stale_fill_on_redis",
    ),
    mutant(
        "model_version_protocol_compare",
        "Under Protocol::Version an older row replaces a newer one (in memory).",
        "cache::published::version_protocol_rejects_stale_fill_in_memory",
    ),
];
