//! What every backend of the delay queue must do. The functions are named after what they show; each opens with the story of
//! the bug it keeps away, where there is one (A1-A13: a published Go delay queue; others by name).
//!
//! [`queue_suite`](crate::queue_suite) makes a test of each for one backend.

mod claim;
pub mod crash_points;
mod enqueue;
mod grow;
pub mod invariants;
mod lease;
mod operate;
mod put;
mod redrive;
mod revoke;
mod settle;
pub mod side_by_side;
mod suspects;
mod tick;
mod time;
mod wake;
mod world;

pub use claim::*;
pub use enqueue::*;
pub use grow::*;
pub use lease::*;
pub use operate::*;
pub use put::*;
pub use redrive::*;
pub use revoke::*;
pub use settle::*;
pub use suspects::*;
pub use tick::*;
pub use time::*;
pub use wake::*;
pub use world::{Consumer, ServerTime, World, job, plain};

/// Makes a test of every function of the suite: `queue_suite!(world)`, where `world` is an async function that answers
/// `anyhow::Result<World<_>>`.
#[macro_export]
macro_rules! queue_suite {
    ($world:path) => {
        $crate::queue_suite!($world:
            // time
            a_job_is_never_early, a_delay_counts_from_the_servers_now, a_clock_set_back_does_not_prolong_a_lease,
            a_body_outlives_any_delay, a_late_job_expires,
            // enqueue
            a_callers_id_makes_enqueueing_idempotent, a_plain_job_leaves_nothing_behind,
            a_unique_key_deduplicates_within_its_window, a_refused_id_leaves_the_unique_key_free,
            a_full_topic_says_so_per_job, one_jobs_options_are_its_own, a_step_takes_five_hundred_items,
            // claim
            urgent_jobs_go_first, jobs_of_one_millisecond_leave_in_order, a_claim_takes_no_more_than_wanted, a_paused_topic_gives_nothing,
            a_lost_reply_is_repeated, a_stale_call_changes_nothing, fences_rise_within_one_millisecond,
            fences_rise_above_what_sql_has_seen, what_was_sent_is_delivered, a_claim_takes_at_most_four_mebibytes,
            a_large_body_is_left_behind_by_its_claim,
            // settle
            a_late_settlement_changes_nothing, a_repeated_ack_leaves_the_next_job_of_that_id_alone,
            a_token_that_returns_is_told_apart_by_its_fence,
            a_failed_job_is_retried_and_then_dead, a_job_with_unlimited_retries_never_dies,
            an_exhausted_job_may_be_discarded, a_dead_job_is_kept_even_if_exhausted_ones_are_not,
            snoozing_and_releasing_use_no_attempt, the_newest_errors_are_kept,
            progress_is_noted_for_the_current_delivery_only,
            // lease
            a_beat_keeps_the_lease, a_lease_counts_from_the_claim, a_late_beat_leaves_nothing_behind, a_late_ack_is_accepted_before_the_rescue, a_rescue_takes_only_what_has_lapsed,
            a_lapse_before_the_start_uses_no_attempt, a_job_that_crashes_too_often_is_dead, silent_workers_are_forgotten, a_killed_worker_is_counted_for_a_minute,
            // suspects
            few_suspects_are_claimed_at_once, suspects_of_one_level_run_at_a_time, a_job_that_lapsed_twice_is_a_suspect,
            a_claim_puts_a_hundred_suspects_off, a_shielded_job_does_not_crash, a_shielded_job_without_retries_does_not_run_twice,
            a_shield_is_taken_back, a_job_is_dead_only_after_it_crashed_alone,
            // revoke
            revoke_says_what_happened, a_repeated_revoke_says_the_same, a_lapsed_job_can_be_revoked,
            a_revoked_job_is_not_brought_back_by_its_enqueue, a_waiting_job_is_moved_and_edited,
            a_running_job_is_not_moved, a_lapsed_job_can_be_moved, moving_a_job_moves_its_expiry,
            // put
            the_newest_version_wins, a_withdrawal_comes_before_its_job, a_newer_version_supersedes_a_running_job,
            a_version_beyond_what_lua_counts_is_compared_exactly, a_newer_version_keeps_the_fence,
            a_job_is_put_back_with_its_past,
            // tick
            each_tick_is_taken_in_once,
            // redrive
            a_redrive_takes_each_dead_letter_once, a_redrive_leaves_what_died_later, a_redrive_keeps_its_history,
            // operate
            dead_letters_are_deleted_one_by_one, dead_letters_are_never_trimmed, a_purge_is_bounded, forgetting_lets_stamps_run_out,
            a_page_goes_on_while_jobs_come_and_go, a_page_goes_on_among_many_of_one_time, figures_add_up,
            // grow
            a_closed_shard_takes_in_nothing_that_another_keeps, what_is_given_is_nowhere_until_it_is_adopted,
            a_parcel_that_comes_late_is_not_taken_again, stamps_move_with_what_is_left_of_them,
            a_step_of_growing_carries_four_mebibytes, new_shards_take_over_the_settings, fences_rise_across_shards,
            // wake
            claimable_work_leaves_markers, an_earlier_job_leaves_one_marker, idle_and_paused_calls_leave_none,
            resuming_leaves_markers,
        );
    };
    ($world:path: $($name:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $name() -> anyhow::Result<()> {
                $crate::conformance::queue::$name(&$world().await?).await
            }
        )*
    };
}
