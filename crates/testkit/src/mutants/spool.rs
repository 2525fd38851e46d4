//! The guards of the spool, and of the invalidations that it keeps.

use super::{Mutant, mutant};

/// In the order of the sources.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "spool_length_checksum",
        "A damaged length looks like a torn end, and all later records are silently truncated.",
        "spool::damage::damaged_record_is_an_error_with_its_position",
    ),
    mutant(
        "spool_checksum",
        "A damaged record is carried out.",
        "spool::damage::damaged_record_is_an_error_with_its_position",
    ),
    mutant(
        "spool_torn_tail",
        "Records after a torn end are appended to it, and cannot be read after the next start.",
        "spool::damage::truncated_last_record_is_the_only_one_lost",
    ),
    mutant(
        "spool_gap",
        "A missing segment is not noticed.",
        "spool::damage::missing_or_truncated_earlier_segment_is_an_error",
    ),
    mutant("spool_lock", "Two processes write into one file.", "spool::files::folder_has_one_owner"),
    mutant(
        "spool_supersedes",
        "A hot row invalidated over and over during an outage fills the spool.",
        "spool::files::repeated_deletes_of_a_key_take_the_space_of_one",
    ),
    mutant(
        "spool_deletes_first",
        "Purges wait behind invalidations that are only late.",
        "spool::files::restart_returns_pending_records_deletes_first",
    ),
    mutant(
        "spool_oldest_first",
        "Done marks are removed before their records, and completed records are handed out again.",
        "spool::files::completed_record_stays_completed_as_segments_go",
    ),
    mutant("spool_bound", "An outage fills the disk and the memory.", "spool::files::full_spool_rejects_with_its_size"),
    mutant(
        "spool_sync_first",
        "A record is acknowledged before it is on disk.",
        "spool::files::acknowledged_record_is_on_disk",
    ),
    mutant(
        "spool_taken_over",
        "Records left in the spool by a dead process are never carried out.",
        "spool::invalidations::invalidation_of_a_killed_process_is_replayed_by_the_next",
    ),
    mutant(
        "spool_struck_off",
        "Completed records stay in the spool, are replayed after every start, and fill it.",
        "spool::invalidations::unsent_invalidation_is_deferred_and_replayed",
    ),
    mutant(
        "deferred_is_kept",
        "An invalidation is reported as deferred although the spool has not accepted it.",
        "spool::invalidations::invalidation_with_a_full_spool_is_an_error",
    ),
    mutant(
        "spool_sizes_saturate",
        "The thread of a spool whose `bytes_max` is above half of a `u64` ends at the first write.",
        "spool::extremes::spool_with_extreme_settings_keeps_acknowledged_records",
    ),
];
