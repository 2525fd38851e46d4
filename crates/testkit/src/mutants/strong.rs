//! Guards of the cache's fresh reads, update windows and replica reads.

use super::{Mutant, mutant};

/// In the order of the sources.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "fresh_goes_past_near",
        "A near cache answers a read that must not be stale.",
        "cache::want::tests::a_near_cache_answers_no_fresh_read",
    ),
    mutant(
        "bounded_age",
        "A read that bears a bounded age is given an older value.",
        "cache::reads::freshness::memory::a_bounded_read_takes_nothing_older_than_its_bound",
    ),
    mutant(
        "at_least_version",
        "A user does not see the write that was made through another process.",
        "cache::reads::freshness::memory::a_reader_elsewhere_sees_the_version_it_was_told_of",
    ),
    mutant(
        "fresh_refuses_stale",
        "A value that was invalidated is given to a read that must not be stale.",
        "cache::reads::freshness::memory::a_fresh_read_takes_nothing_that_was_invalidated",
    ),
    mutant(
        "stale_only_if_error",
        "A stale value is served although the newest could have been loaded.",
        "cache::reads::freshness::memory::a_stale_value_is_served_only_if_loading_fails",
    ),
    mutant(
        "fresh_joins_nothing_older",
        "A fresh read is given what a load brought that had read the row before the read began.",
        "cache::reads::freshness::memory::a_fresh_read_takes_no_load_that_began_before_it",
    ),
    mutant(
        "confirmed_since_the_read_began",
        "A fresh read is given a value that the store took before the read began, and a writer replaced since.",
        "cache::reads::freshness::memory::a_fresh_read_takes_no_load_that_was_stored_before_it_began",
    ),
    mutant(
        "primary_required",
        "A loader reads a replica that has not followed, and its answer is never stored.",
        "cache::reads::replicas::memory::a_replica_that_has_not_followed_is_not_asked",
    ),
    mutant(
        "confirmed_begin",
        "A writer goes to work although nobody knows of its window.",
        "cache::reads::windows::memory::nothing_is_written_without_a_confirmed_window",
    ),
    mutant(
        "unknown_write_lapses",
        "A write that may still be committed ends its window, and the older row is stored after it.",
        "cache::reads::windows::memory::a_write_that_failed_leaves_its_window_to_lapse",
    ),
    mutant(
        "window_is_renewed",
        "A transaction that takes longer than a window loses it.",
        "cache::reads::windows::memory::a_window_is_renewed_while_its_writer_is_at_work",
    ),
    mutant(
        "lost_window_is_told",
        "A writer whose window has lapsed is told to go on.",
        "cache::reads::windows::memory::a_writer_whose_window_lapsed_is_told_to_roll_back",
    ),
    mutant(
        "window_on_replicas",
        "A writer goes to work although the replicas that it wanted have not heard of its window.",
        "cache::reads::on_replicas::nothing_is_written_before_enough_replicas_have_the_window",
    ),
    mutant(
        "update_window",
        "A reader loads between a statement and its commit, and stores the row as it was.",
        "cache::reads::windows::memory::readers_ask_the_primary_if_the_cache_is_told_so",
    ),
];
