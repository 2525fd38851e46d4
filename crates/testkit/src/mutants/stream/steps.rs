//! The guards of the steps of streams: lines of the scripts, and checks before a call is sent.

use crate::mutants::{Mutant, mutant};

/// In the order of the steps.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "stream_types_checked",
        "A call fails at a foreign value under one key after it has written to others: read entries have no lease and are lost.",
        "stream::foreign::foreign_type_under_any_key_of_a_partition_loses_no_entry",
    ),
    mutant(
        "stream_open_last",
        "After a failover to a server whose clock is behind, new entries are below the groups' positions and are never read.",
        "stream::scripts::new_ids_exceed_the_last_known_id",
    ),
    mutant(
        "stream_epoch_rises",
        "A consumer of a group that Redis has lost settles entries of the new one.",
        "stream::on_redis::recreated_group_has_a_higher_epoch",
    ),
    mutant(
        "stream_append_creates_nothing",
        "An append creates a stream without its groups, which hides that Redis has lost it.",
        "stream::scripts::append_requires_an_open_partition",
    ),
    mutant(
        "stream_append_once",
        "An append that is repeated after a lost reply is in the log twice.",
        "stream::scripts::sequence_is_appended_once",
    ),
    mutant(
        "stream_append_order",
        "The appends of two relays for one key are in the log in the wrong order.",
        "stream::scripts::sequence_out_of_order_is_rejected",
    ),
    mutant(
        "stream_entries_max",
        "A stream grows until Redis is out of memory.",
        "stream::scripts::append_above_the_limit_is_full",
    ),
    mutant(
        "stream_count_zero",
        "A consumer without a free slot asks for a count of zero, which to Redis means no limit.",
        "stream::scripts::read_without_a_free_slot_is_rejected",
    ),
    mutant(
        "stream_reply_bytes",
        "A reply has hundreds of megabytes of entries, and breaks the connection that all calls of the process share.",
        "stream::scripts::reply_with_large_entries_ends_early",
    ),
    mutant(
        "stream_redrive_bytes",
        "A replay of named letters reads hundreds of megabytes in one call, and the server answers no other call meanwhile.",
        "stream::side::large::large_letters_are_replayed_and_removed_in_several_calls",
    ),
    mutant(
        "stream_discard_bytes",
        "A removal of named letters reads hundreds of megabytes in one call, and the server answers no other call meanwhile.",
        "stream::side::large::large_letters_are_replayed_and_removed_in_several_calls",
    ),
    mutant(
        "stream_lease_clock",
        "A clock that is set back extends a dead owner's lease by as much.",
        "stream::scripts::clock_set_back_does_not_extend_a_partition_lease",
    ),
    mutant(
        "stream_lease_clock",
        "A clock that is set back extends the leases of a dead consumer's entries by as much.",
        "stream::scripts::clock_set_back_does_not_extend_an_entry_lease",
    ),
    mutant(
        "stream_mode",
        "A consumer that leases entries overtakes the owner of the partition.",
        "stream::scripts::modes_do_not_mix",
    ),
    mutant(
        "stream_partition_fence",
        "A former owner of a partition reads, settles and deletes.",
        "stream::scripts::former_owner_changes_nothing",
    ),
    mutant(
        "stream_epoch",
        "A delivery from before a seek settles the one after it.",
        "stream::scripts::settlement_from_before_a_seek_changes_nothing",
    ),
    mutant(
        "stream_seek_epoch",
        "A seek does not end the deliveries before it.",
        "stream::scripts::settlement_from_before_a_seek_changes_nothing",
    ),
    mutant(
        "stream_join_repeat",
        "An owner that repeats its call after a lost reply waits for itself.",
        "stream::scripts::repeated_join_returns_the_same_fence",
    ),
    mutant("stream_join_exclusive", "Two consumers own a partition.", "stream::scripts::partition_has_one_owner"),
    mutant(
        "stream_fence_previous",
        "Two owners within a millisecond have the same fence.",
        "stream::scripts::partition_fences_rise_within_one_millisecond",
    ),
    mutant(
        "stream_fence_time",
        "Fences begin at one again after a flush, and a zombie passes.",
        "stream::scripts::partition_fence_is_at_least_the_server_time",
    ),
    mutant(
        "stream_fence_floor",
        "A fence is below the one that SQL has seen, and SQL rejects the owner.",
        "stream::scripts::partition_fence_exceeds_the_known_fence",
    ),
    mutant(
        "stream_take_over_first",
        "A new owner handles new entries before the pending ones of the same keys.",
        "stream::scripts::owner_takes_over_before_it_reads",
    ),
    mutant(
        "stream_take_over_page_without_entries",
        "A new owner takes a page of deleted entries for the last one, and never handles the pending entries after it.",
        "stream::on_redis::page_of_deleted_pending_entries_is_not_the_last",
    ),
    mutant(
        "stream_members_expire",
        "The partitions of a dead consumer are kept free for it.",
        "stream::scripts::consumers_that_are_silent_no_longer_attend",
    ),
    mutant("stream_paused", "A paused group goes on.", "stream::scripts::paused_group_delivers_nothing"),
    mutant(
        "stream_redelivery_share",
        "Entries that fail keep new ones from being read.",
        "stream::scripts::new_entries_flow_while_many_fail",
    ),
    mutant(
        "stream_only_its_group",
        "A dead letter that is sent back reaches every group.",
        "stream::scripts::redriven_letter_reaches_its_group_only",
    ),
    mutant(
        "stream_skipped_read_again",
        "Entries behind those that were sent back to other groups are not read until the next append.",
        "stream::scripts::read_that_skips_entries_asks_for_another",
    ),
    mutant(
        "stream_delivery_owner",
        "A consumer settles the delivery of another one.",
        "stream::scripts::settlement_of_a_former_delivery_changes_nothing",
    ),
    mutant(
        "stream_delivery_count",
        "A consumer settles a later delivery with the outcome of an earlier one.",
        "stream::scripts::settlement_of_an_earlier_count_changes_nothing",
    ),
    mutant(
        "stream_delivery_delayed",
        "A settlement that is repeated after a lost reply uses two attempts.",
        "stream::scripts::repeated_settlement_counts_one_error",
    ),
    mutant(
        "stream_outcome_of_this_call_is_delayed",
        "A failed entry is settled twice by one call.",
        "stream::scripts::outcomes_of_one_call_see_each_other",
    ),
    mutant(
        "stream_outcome_of_this_call_is_recorded",
        "An entry becomes two dead letters by one call.",
        "stream::scripts::outcomes_of_one_call_see_each_other",
    ),
    mutant(
        "stream_delivery_delayed",
        "A late heartbeat changes when a failed entry is due.",
        "stream::scripts::heartbeat_of_a_delayed_entry_is_rejected",
    ),
    mutant(
        "stream_crash_alone",
        "The neighbors of an entry that kills its process become dead letters, too.",
        "stream::scripts::crash_counts_for_an_entry_that_ran_alone",
    ),
    mutant(
        "stream_alone_ends",
        "An entry that no longer runs alone is blamed for the death of its process.",
        "stream::scripts::crash_of_an_entry_no_longer_alone_is_not_counted",
    ),
    mutant(
        "stream_heartbeat_never_shortens",
        "A late heartbeat ends a longer lease.",
        "stream::scripts::heartbeat_never_shortens_a_partition_lease",
    ),
    mutant(
        "stream_redrive_parked",
        "A dead letter of a sequence is overtaken by later entries of its key.",
        "stream::scripts::letter_of_a_parked_key_is_not_redriven",
    ),
    mutant(
        "stream_unparked_at_zero",
        "Entries of a key are handled while earlier ones are dead letters.",
        "stream::scripts::key_is_parked_until_its_last_letter_is_deleted",
    ),
    mutant(
        "stream_trim_group_missing",
        "Entries are removed that a group has not read because Redis has lost the group.",
        "stream::scripts::trim_refuses_while_a_group_is_missing",
    ),
    mutant(
        "stream_trim_keeps_young",
        "Entries are removed that a replay may still ask for.",
        "stream::scripts::trim_keeps_young_entries",
    ),
    mutant(
        "stream_trim_unread",
        "Entries are removed that a slow group has not read.",
        "stream::scripts::trim_keeps_unread_entries",
    ),
    mutant(
        "stream_trim_unread",
        "Entries are removed that a group of another program has not read.",
        "stream::on_redis::trim_keeps_what_other_groups_have_not_read",
    ),
    mutant(
        "stream_trim_pending",
        "Entries are removed that wait for a retry.",
        "stream::scripts::trim_keeps_pending_entries",
    ),
    mutant(
        "stream_sweep_pending",
        "Removing a consumer destroys its pending entries.",
        "stream::scripts::consumer_with_pending_entries_is_kept",
    ),
];
