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
        "stream_wait_after_read",
        "An entry that is appended between a read and the wait for more is handled only after the next entry or poll.",
        "stream::side::faults::entry_appended_just_before_the_wait_wakes_the_consumer",
    ),
    mutant(
        "stream_wake_on_error",
        "A value of another type under one log delays the entries of all streams of the process until their next poll.",
        "stream::side::neighbors::foreign_type_under_one_log_does_not_delay_other_streams",
    ),
    mutant(
        "stream_seek_not_ahead",
        "A seek into the future skips all entries until then, and its preview counts none.",
        "stream::side::admin::memory::seek_into_the_future_is_refused",
    ),
    mutant(
        "stream_free_slots",
        "A consumer reads entries that it cannot run, and their leases expire in it.",
        "stream::side::delivery::order::memory::unordered_consumer_reads_no_more_than_its_free_slots",
    ),
    mutant(
        "stream_queue_per_key",
        "Entries of a key run at the same time.",
        "stream::side::delivery::order::memory::entries_of_a_key_run_one_after_the_other",
    ),
    mutant(
        "stream_key_one_at_a_time",
        "Entries of a key run at the same time.",
        "stream::side::delivery::order::memory::entries_of_a_key_run_one_after_the_other",
    ),
    mutant(
        "stream_key_waits",
        "Later entries of a key overtake one that is retried, although the group blocks the key.",
        "stream::side::delivery::order::memory::blocked_key_waits_for_its_failed_entry",
    ),
    mutant(
        "stream_lease_ends_here",
        "The handlers of an owner without Redis go on next to those of the next owner.",
        "stream::side::faults::owner_without_redis_stops_its_handlers_after_the_lease",
    ),
    mutant(
        "stream_share_given_up",
        "A consumer that joins a group gets no partition.",
        "stream::side::delivery::owners::memory::new_consumer_gets_its_share_of_the_partitions",
    ),
    mutant(
        "stream_partition_returned",
        "The partitions of a consumer that ends are not handled until their leases expire.",
        "stream::side::delivery::owners::memory::partitions_of_a_consumer_that_ends_are_free_at_once",
    ),
    mutant(
        "stream_suspect_alone",
        "An entry that kills its process takes others with it, and is never identified.",
        "stream::side::delivery::suspects::memory::suspect_runs_alone",
    ),
    mutant(
        "stream_panic_is_an_error",
        "An entry whose handler panicked counts as done.",
        "stream::side::delivery::failures::memory::panicking_handler_is_a_failed_attempt",
    ),
    mutant(
        "stream_entry_codec",
        "An entry that another codec encoded is read as another value.",
        "stream::side::delivery::failures::memory::entry_is_decoded_by_its_own_codec",
    ),
    mutant(
        "stream_letters_checked_first",
        "Dead letters are deleted although the call fails, because a later one names a partition that does not exist.",
        "stream::side::delivery::failures::memory::letter_of_an_unknown_partition_leaves_the_others",
    ),
    mutant(
        "stream_pause_holds_its_entry",
        "An entry that met an outage waits for the whole span of its pause, although the pause was ended.",
        "stream::side::delivery::failures::memory::resumed_group_delivers_the_entry_that_paused_it",
    ),
    mutant(
        "handler_timeout",
        "A handler that hangs keeps its entry, and in an ordered group all later ones of its key, for ever.",
        "stream::side::delivery::failures::memory::handler_that_hangs_ends_in_a_dead_letter",
    ),
    mutant(
        "stream_undecodable_is_dead",
        "An entry that cannot be decoded blocks its key.",
        "stream::side::delivery::failures::memory::undecodable_entry_is_dead_and_others_go_on",
    ),
    mutant(
        "stream_lock_lost_cancels",
        "A handler that lost its lock goes on next to the next holder.",
        "stream::side::delivery::exclusive::memory::handler_is_canceled_when_its_lock_is_lost",
    ),
    mutant(
        "stream_suspect_waits_for_lock",
        "An entry that kills its process is never identified if its lock is taken when it is delivered again.",
        "stream::side::delivery::exclusive::memory::suspect_whose_lock_is_taken_stays_a_suspect",
    ),
    mutant(
        "stream_entries_kept_when_sent",
        "An entry that a relay has sent is deleted, and lost with Redis.",
        "stream::side::recovery::sqlite::flushed_stream_is_recovered_when_it_is_opened",
    ),
    mutant(
        "stream_kept_for_the_slowest",
        "The entries that the slowest group has not settled are not kept.",
        "stream::side::recovery::sqlite::entries_are_kept_until_the_slowest_group_has_settled_them",
    ),
    mutant(
        "stream_ids_above_checkpoints",
        "On a server whose clock is behind, new entries lie before the groups' positions and are never read.",
        "stream::side::recovery::sqlite::ids_continue_above_the_checkpoints",
    ),
    mutant(
        "stream_checkpoint_rises",
        "After a seek back and a loss, entries that were settled and deleted seem to be missing.",
        "stream::side::recovery::sqlite::checkpoint_never_goes_back",
    ),
    mutant(
        "stream_loss_ends_claims",
        "A relay records an entry as sent that Redis has lost meanwhile.",
        "stream::side::recovery::sqlite::recovery_ends_the_claims_of_relays",
    ),
    mutant(
        "stream_timeout_outcome_kept",
        "A handler that hangs while it holds a lock fails without an outcome, and its entry never becomes a dead letter.",
        "stream::side::delivery::exclusive::redis::handler_that_hangs_with_a_lock_ends_in_a_dead_letter",
    ),
    mutant(
        "stream_recovery_begun_once",
        "A program that has seen the same loss as another one sends everything again.",
        "stream::side::recovery::sqlite::recovery_that_another_program_has_begun_is_not_begun_again",
    ),
    mutant(
        "stream_partition_recovered_once",
        "A stream without groups is recovered once for each of its partitions, and its entries are sent as often.",
        "stream::side::recovery::sqlite::stream_without_groups_is_recovered_once",
    ),
    mutant(
        "stream_database_first",
        "New entries are appended before the kept ones, which then count as duplicates.",
        "stream::side::recovery::sqlite::stream_stays_lost_while_its_database_fails",
    ),
    mutant(
        "stream_incarnation_compared",
        "A loss is not detected if another program has created the stream again.",
        "stream::side::recovery::sqlite::loss_is_detected_though_another_program_created_the_stream",
    ),
    mutant(
        "stream_save_fenced",
        "A checkpoint of the lost stream counts for the new one.",
        "stream::side::recovery::sqlite::late_checkpoint_of_a_lost_incarnation_is_rejected",
    ),
    mutant(
        "stream_incarnations_are_producers",
        "A late entry of a stopped relay makes the kept entries of its key duplicates.",
        "stream::side::recovery::sqlite::late_entry_of_a_stopped_relay_hides_no_kept_entry",
    ),
    mutant(
        "stream_kept_entries_first",
        "A relay appends new entries of a key before its kept ones.",
        "stream::side::recovery::sqlite::kept_entries_are_sent_before_new_ones",
    ),
    mutant(
        "stream_left_to_its_database",
        "A program without the database creates a stream without its entries.",
        "stream::side::recovery::sqlite::program_without_the_database_does_not_create_the_stream_again",
    ),
    mutant(
        "stream_groups_of_the_database",
        "Entries are trimmed that a group has not settled, because Redis has lost the group and the register.",
        "stream::side::recovery::sqlite::trim_keeps_entries_while_a_registered_group_is_missing",
    ),
    mutant(
        "stream_refusal_logged",
        "Redis refuses every trim of a stream, and only a metric shows it.",
        "stream::side::neighbors::foreign_type_in_place_of_the_register_of_groups_is_logged_once",
    ),
    mutant(
        "stream_partly_reported",
        "An action that stops in the middle looks as if nothing was changed.",
        "stream::side::neighbors::action_on_a_sick_partition_changes_the_others",
    ),
    mutant(
        "stream_unregister_in_its_database",
        "A group that was unregistered by a program without the database comes back.",
        "stream::side::recovery::sqlite::group_is_unregistered_where_its_database_is_known",
    ),
];
