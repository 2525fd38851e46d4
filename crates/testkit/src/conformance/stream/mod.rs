//! The suite of streams: docs/spec/stream.md as tests. S-numbers are bugs met elsewhere.

mod append;
mod dead;
mod lease;
mod operate;
mod read;
mod rig;
mod settle;
pub mod side_by_side;

pub use append::*;
pub use dead::*;
pub use lease::*;
pub use operate::*;
pub use read::*;
pub use rig::{LEASE_MS, Rig, appending, consumer, delivery, done, entry, ids};
pub use settle::*;

/// Makes a test of every function of the suite: `stream_suite!(rig)`, where `rig` is an async function that returns
/// `anyhow::Result<Rig<_>>`.
#[macro_export]
macro_rules! stream_suite {
    ($rig:path) => {
        $crate::stream_suite!(@each $rig:
            // append
            append_requires_an_open_partition, sequence_is_appended_once, sequence_out_of_order_is_rejected,
            producer_is_forgotten_after_its_window, append_above_the_limit_is_full, ids_rise_when_the_clock_is_set_back,
            new_ids_exceed_the_last_known_id, open_keeps_existing_groups, append_arguments_are_bounded,
            // lease
            partition_has_one_owner, repeated_join_returns_the_same_fence, partition_fences_rise_within_one_millisecond,
            partition_fence_is_at_least_the_server_time, partition_fence_exceeds_the_known_fence,
            clock_set_back_does_not_extend_a_partition_lease, heartbeat_never_shortens_a_partition_lease,
            former_owner_changes_nothing, modes_do_not_mix, owner_takes_over_before_it_reads,
            repeated_take_over_returns_the_same_deliveries, consumers_that_are_silent_no_longer_attend,
            // read
            entry_is_delivered_to_one_consumer, read_without_a_free_slot_is_rejected, expired_entry_is_delivered_again,
            clock_set_back_does_not_extend_an_entry_lease, heartbeat_keeps_the_entry,
            heartbeat_of_a_former_delivery_is_rejected, heartbeat_of_a_delayed_entry_is_rejected,
            new_entries_flow_while_many_fail, paused_group_delivers_nothing, deliveries_of_a_lost_reply_are_found_again,
            reply_with_large_entries_ends_early,
            // settle
            settlement_of_a_former_delivery_changes_nothing, settlement_of_an_earlier_count_changes_nothing,
            repeated_settlement_counts_one_error, settlement_from_before_a_seek_changes_nothing,
            failed_entry_is_delivered_after_its_delay, snooze_counts_nothing, crash_counts_for_an_entry_that_ran_alone,
            crash_of_an_entry_no_longer_alone_is_not_counted,
            history_has_the_newest_errors, each_entry_of_a_batch_has_its_outcome, outcomes_of_one_call_see_each_other,
            // dead
            dead_letter_exists_once_with_its_history, redriven_letter_reaches_its_group_only,
            letter_of_a_parked_key_is_not_redriven, key_is_parked_until_its_last_letter_is_deleted,
            dead_letter_outlives_its_entry, missing_group_is_reported, read_that_skips_entries_asks_for_another,
            // operate
            trim_keeps_unread_entries, trim_keeps_pending_entries, trim_refuses_while_a_group_is_missing,
            trim_keeps_young_entries, consumer_with_pending_entries_is_kept, seek_moves_the_group,
        );
    };
    (@each $rig:path: $($name:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $name() -> anyhow::Result<()> {
                $crate::conformance::stream::$name(&$rig().await?).await
            }
        )*
    };
}
