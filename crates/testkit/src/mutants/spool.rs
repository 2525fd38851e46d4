//! The guards of the spool, and of the invalidations that it keeps.

use super::{Mutant, mutant};

/// In the order of the sources.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "spool_length_checksum",
        "A damaged length looks like a torn end, and all records behind it are cut off without a word.",
        "spool::damage::a_damaged_record_is_an_error_that_names_its_place",
    ),
    mutant(
        "spool_checksum",
        "A damaged record is carried out as it is.",
        "spool::damage::a_damaged_record_is_an_error_that_names_its_place",
    ),
    mutant(
        "spool_torn_tail",
        "What follows a torn end is written behind it, and cannot be read after the next start.",
        "spool::damage::a_file_cut_at_any_byte_of_its_last_record_loses_that_record_alone",
    ),
    mutant(
        "spool_gap",
        "A missing segment is not noticed.",
        "spool::damage::a_segment_that_is_missing_or_cut_before_the_last_one_is_an_error",
    ),
    mutant("spool_lock", "Two processes write into one file.", "spool::files::a_folder_has_one_owner"),
    mutant(
        "spool_supersedes",
        "A hot row that is invalidated over and over during an outage fills the spool.",
        "spool::files::a_key_that_is_deleted_over_and_over_takes_the_room_of_one",
    ),
    mutant(
        "spool_deletes_first",
        "What nobody may be served any more waits behind what is only late.",
        "spool::files::what_was_kept_is_handed_out_after_a_restart_deletes_first_and_done_ones_never",
    ),
    mutant(
        "spool_oldest_first",
        "Marks go before what they speak of, and what is done is handed out again.",
        "spool::files::what_is_done_stays_done_whichever_segments_go",
    ),
    mutant(
        "spool_bound",
        "An outage fills the disk and the memory.",
        "spool::files::a_full_spool_refuses_and_says_how_full_it_is",
    ),
    mutant(
        "spool_sync_first",
        "An obligation is acknowledged before it is on the disk.",
        "spool::files::an_acknowledged_obligation_is_on_the_disk",
    ),
    mutant(
        "spool_taken_over",
        "What a process that died has left in the spool is carried out by nobody.",
        "spool::invalidations::an_invalidation_whose_process_was_killed_is_done_by_the_next_one",
    ),
    mutant(
        "spool_struck_off",
        "What is done stays in the spool, is driven again after every start, and fills it.",
        "spool::invalidations::an_invalidation_that_redis_does_not_take_is_deferred_and_driven_when_it_is_back",
    ),
    mutant(
        "deferred_is_kept",
        "A caller is told that an invalidation is deferred which the spool has not taken.",
        "spool::invalidations::an_invalidation_that_finds_the_spool_full_is_an_error",
    ),
];
