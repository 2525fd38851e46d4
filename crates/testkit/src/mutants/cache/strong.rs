//! Guards of the cache's fresh reads, update windows and replica reads.

use crate::mutants::{Mutant, mutant};

/// In the order of the sources.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "fresh_goes_past_near",
        "A near cache answers a read that must not be stale.",
        "cache::reading::demand::tests::fresh_read_is_not_served_from_the_near_cache",
    ),
    mutant(
        "bounded_age",
        "A bounded read returns a value older than its bound.",
        "freshness::memory::bounded_read_rejects_values_older_than_its_bound",
    ),
    mutant(
        "at_least_version",
        "A user does not see the write that was made through another process.",
        "freshness::memory::minimum_version_read_returns_no_older_version",
    ),
    mutant(
        "fresh_refuses_stale",
        "A read that must not be stale returns an invalidated value.",
        "freshness::memory::fresh_read_rejects_an_invalidated_value",
    ),
    mutant(
        "stale_only_if_error",
        "A stale value is served although the load would have succeeded.",
        "freshness::memory::stale_if_error_serves_stale_only_on_error",
    ),
    mutant(
        "fresh_joins_nothing_older",
        "A fresh read returns the value of a load that read the row before the read began.",
        "freshness::memory::fresh_read_does_not_join_an_earlier_load",
    ),
    mutant(
        "confirmed_since_the_read_began",
        "A fresh read returns a value stored before the read began, which a writer has replaced since.",
        "freshness::memory::fresh_read_rejects_load_stored_before_the_read",
    ),
    mutant(
        "primary_required",
        "A loader reads a lagging replica, and its row is never stored.",
        "replicas::memory::lagging_replica_is_not_read",
    ),
    mutant(
        "refused_load_reads_primary",
        "On a Redis whose memory is full, a reader gets the row of a replica that lacks an invalidated write.",
        "replicas::load_that_redis_refuses_reads_the_primary",
    ),
    mutant(
        "memory_window_above_the_bound",
        "In an embedded store below the size of an entry no window is open, and readers load a row that is being written.",
        "store::open_window_is_kept_where_no_entry_fits",
    ),
    mutant(
        "confirmed_begin",
        "A writer writes although its window is unconfirmed.",
        "windows::memory::write_requires_a_confirmed_window",
    ),
    mutant(
        "unknown_write_expires",
        "A write that may still be committed ends its window, and the older row is stored after it.",
        "windows::memory::failed_write_leaves_its_window_to_expire",
    ),
    mutant(
        "window_is_renewed",
        "A transaction that takes longer than a window loses it.",
        "windows::memory::window_is_renewed_during_a_long_write",
    ),
    mutant(
        "lost_window_is_reported",
        "A writer whose window has expired continues.",
        "windows::memory::check_of_expired_window_asks_for_rollback",
    ),
    mutant(
        "window_on_replicas",
        "A writer writes before the required replicas have its window.",
        "on_replicas::write_waits_until_replicas_confirm_the_window",
    ),
    mutant(
        "update_window",
        "A reader loads between a statement and its commit, and stores the row as it was.",
        "windows::memory::readers_in_a_window_read_the_primary_if_configured",
    ),
];
