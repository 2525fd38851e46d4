//! What every backend of the delay queue must do. The functions are named after what they show; each opens with the story of
//! the bug it keeps away, where there is one (A1-A13: a published Go delay queue; others by name).
//!
//! [`queue_suite`](crate::queue_suite) makes a test of each for one backend.

mod consumers;
pub mod crash_points;
mod enqueue;
mod grow;
pub mod invariants;
mod operators;
mod put;
mod rig;
pub mod side_by_side;
mod tick;

pub use consumers::*;
pub use enqueue::*;
pub use grow::*;
pub use operators::*;
pub use put::*;
pub use rig::{Consumer, Rig, job, plain};
pub use tick::*;

/// Makes a test of every function of the suite: `queue_suite!(rig)`, where `rig` is an async function that answers
/// `anyhow::Result<Rig>`.
#[macro_export]
macro_rules! queue_suite {
    ($rig:path) => {
        $crate::queue_suite!($rig:
            // time
            job_is_never_delivered_early, time_in_the_past_means_now, delay_counts_from_the_server_clock, clock_set_back_does_not_extend_a_lease,
            body_outlives_any_delay, job_past_its_deadline_expires, started_job_is_retried_however_late,
            released_job_may_be_too_late,
            // enqueue
            enqueue_with_caller_id_is_idempotent, finished_job_without_id_leaves_no_key_behind,
            unique_key_deduplicates_within_its_window, rejected_id_leaves_the_unique_key_free,
            full_topic_rejects_job_by_job, job_options_apply_to_one_job_only, retries_above_the_highest_are_reduced_to_it, step_accepts_at_most_five_hundred_items,
            // claim
            urgent_jobs_run_first, jobs_due_in_one_millisecond_keep_their_order, claim_returns_no_more_than_requested, paused_topic_delivers_nothing,
            repeated_call_returns_the_same_reply, stale_call_changes_nothing, fences_rise_within_one_millisecond,
            fences_exceed_those_seen_by_sql, job_is_delivered_as_sent, claim_returns_at_most_four_mebibytes,
            large_body_is_not_returned_with_its_claim,
            // settle
            late_settlement_changes_nothing, repeated_ack_does_not_end_the_next_job_with_that_id,
            fence_distinguishes_deliveries_with_equal_tokens,
            failed_job_is_retried_and_then_dead, job_with_unlimited_retries_never_dies,
            exhausted_job_is_discarded_if_configured, dead_job_is_kept_when_exhausted_jobs_are_discarded,
            snooze_and_release_use_no_attempt, newest_errors_are_kept,
            progress_is_stored_for_the_current_delivery_only,
            // lease
            heartbeat_extends_the_lease, lease_counts_from_the_claim, late_heartbeat_leaves_no_key_behind, late_ack_is_accepted_before_the_rescue, rescue_takes_only_expired_leases,
            lease_expiry_before_the_start_uses_no_attempt, job_exceeding_its_crash_limit_is_dead, silent_workers_are_forgotten, killed_worker_is_counted_for_a_minute,
            // suspects
            suspects_are_claimed_a_few_at_a_time, only_suspects_of_one_level_run_together, job_with_two_expired_leases_is_a_suspect,
            claim_postpones_up_to_a_hundred_suspects, crash_is_not_counted_for_a_shielded_job, shielded_job_without_retries_does_not_run_twice,
            job_loses_its_shield_when_the_suspect_ended, job_is_dead_only_after_crashing_alone,
            // revoke
            revoke_reports_what_happened, repeated_revoke_returns_the_same_result, job_with_expired_lease_can_be_revoked,
            late_enqueue_does_not_revive_a_revoked_job, waiting_job_is_rescheduled_and_edited,
            edit_above_the_limit_of_bytes_changes_nothing, running_job_is_not_rescheduled, job_with_expired_lease_can_be_rescheduled, reschedule_moves_the_job_deadline,
            // put
            newest_version_wins, withdrawal_before_its_job_prevents_the_job, newer_version_supersedes_a_running_job,
            versions_above_lua_numbers_are_compared_exactly, newer_version_keeps_the_fence,
            restored_job_keeps_its_attempts_and_state,
            // tick
            each_tick_is_enqueued_once,
            // redrive
            redrive_moves_each_dead_letter_once, redrive_skips_letters_that_died_later, redriven_job_keeps_its_history,
            // operate
            only_dead_letters_are_deleted, dead_letters_are_never_trimmed, purge_deletes_a_bounded_number, forget_lets_completion_records_expire,
            page_continues_while_jobs_come_and_go, page_continues_among_many_jobs_due_at_one_time, stats_add_up,
            dead_letter_is_amended_only_if_it_is_the_one_seen, only_dead_letters_are_amended,
            newest_page_continues_while_jobs_come_and_go, preview_has_only_the_beginning_of_a_body,
            standing_shows_why_a_job_waits, kept_call_of_a_worker_can_be_repeated,
            // grow
            closed_shard_rejects_jobs_of_another_shard, migrating_job_is_in_no_shard_until_received,
            late_migration_batch_is_rejected, completion_records_move_with_their_remaining_ttl,
            migration_batch_carries_at_most_four_mebibytes, new_shards_inherit_the_settings, fences_rise_across_shards,
            // wake
            claimable_jobs_leave_wake_up_markers, earlier_job_leaves_one_wake_up_marker, idle_and_paused_calls_leave_no_markers,
            resume_leaves_wake_up_markers,
        );
    };
    ($rig:path: $($name:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $name() -> anyhow::Result<()> {
                $crate::conformance::queue::$name(&$rig().await?).await
            }
        )*
    };
}
