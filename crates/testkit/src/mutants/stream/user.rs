//! The guards of streams as users see them.

use crate::mutants::{Mutant, mutant};

/// In the order of the sources.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "stream_codec_id_checked",
        "A codec of the program gets the bytes of another codec, whose id it has.",
        "stream::side::appends::memory::codec_with_a_reserved_id_is_rejected",
    ),
    mutant(
        "stream_partitions_kept",
        "A program with another number of partitions appends entries of a key to another partition.",
        "stream::side::appends::memory::other_number_of_partitions_is_rejected",
    ),
    mutant(
        "stream_append_repeated",
        "An append whose reply is lost fails, and the caller's repetition duplicates the entry.",
        "stream::side::faults::append_whose_reply_is_lost_is_in_the_log_once",
    ),
    mutant(
        "stream_append_gap_closed",
        "After an operator has skipped a message, no later entry of its key is appended.",
        "stream::side::works::memory::gap_in_the_sequences_is_closed",
    ),
    mutant(
        "stream_free_slots",
        "A consumer reads entries that it cannot run, and their leases expire in it.",
        "stream::side::order::memory::unordered_consumer_reads_no_more_than_its_free_slots",
    ),
    mutant(
        "stream_lane_per_key",
        "Entries of a key run at the same time.",
        "stream::side::order::memory::entries_of_a_key_run_one_after_the_other",
    ),
    mutant(
        "stream_lane_one_at_a_time",
        "Entries of a key run at the same time.",
        "stream::side::order::memory::entries_of_a_key_run_one_after_the_other",
    ),
    mutant(
        "stream_lane_waits",
        "Later entries of a key overtake one that is retried, although the group blocks the key.",
        "stream::side::order::memory::blocked_key_waits_for_its_failed_entry",
    ),
    mutant(
        "stream_lease_ends_here",
        "The handlers of an owner without Redis go on next to those of the next owner.",
        "stream::side::faults::owner_without_redis_stops_its_handlers_after_the_lease",
    ),
    mutant(
        "stream_share_given_up",
        "A consumer that joins a group gets no partition.",
        "stream::side::owners::memory::new_consumer_gets_its_share_of_the_partitions",
    ),
    mutant(
        "stream_partition_returned",
        "The partitions of a consumer that ends are not handled until their leases expire.",
        "stream::side::owners::memory::partitions_of_a_consumer_that_ends_are_free_at_once",
    ),
    mutant(
        "stream_suspect_alone",
        "An entry that kills its process takes others with it, and is never identified.",
        "stream::side::suspects::memory::suspect_runs_alone",
    ),
    mutant(
        "stream_panic_is_an_error",
        "An entry whose handler panicked counts as done.",
        "stream::side::failures::memory::panicking_handler_is_a_failed_attempt",
    ),
    mutant(
        "stream_letters_checked_first",
        "Dead letters are deleted although the call fails, because a later one names a partition that does not exist.",
        "stream::side::failures::memory::letter_of_an_unknown_partition_leaves_the_others",
    ),
    mutant(
        "stream_undecodable_is_dead",
        "An entry that cannot be decoded blocks its key.",
        "stream::side::failures::memory::undecodable_entry_is_dead_and_others_go_on",
    ),
];
