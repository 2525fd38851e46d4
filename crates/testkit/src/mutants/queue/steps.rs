//! The guards of the delay queue's steps: lines of its scripts and of the model.

use crate::mutants::{Mutant, mutant};

/// In the order of the steps.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "queue_types_checked",
        "A call fails at a foreign value under the key of an index after it has removed jobs from another index: they are lost.",
        "queue::foreign::foreign_type_under_any_key_of_a_shard_loses_no_job",
    ),
    mutant(
        "queue_foreign_record",
        "A foreign value in place of one record fails every claim of its shard.",
        "queue::foreign::foreign_type_in_place_of_a_record_stops_no_other_job",
    ),
    mutant(
        "queue_foreign_record",
        "A foreign value under a unique key fails a call whose other jobs are enqueued.",
        "queue::foreign::foreign_type_under_a_unique_key_is_replaced",
    ),
    mutant(
        "queue_lease_clock",
        "A clock that is set back extends every lease by as much.",
        "queue::scripts::clock_set_back_does_not_extend_a_lease",
    ),
    mutant(
        "queue_token",
        "A duplicate ack ends the next job of that id.",
        "queue::scripts::repeated_ack_does_not_end_the_next_job_with_that_id",
    ),
    mutant(
        "queue_fence",
        "Two workers that drew the same token settle each other's deliveries.",
        "queue::scripts::fence_distinguishes_deliveries_with_equal_tokens",
    ),
    mutant(
        "queue_senders_bound",
        "While Redis does not respond, senders fill the memory.",
        "queue::senders::sender_above_the_limit_is_rejected",
    ),
    mutant(
        "queue_gone_sends_nothing",
        "A job is sent although its sender was dropped before the call.",
        "queue::senders::sender_dropped_before_its_call_sends_nothing",
    ),
    mutant(
        "queue_enqueue_id",
        "A repeated enqueue makes a running job wait again, and its worker is no longer current.",
        "queue::scripts::enqueue_with_caller_id_is_idempotent",
    ),
    mutant(
        "queue_enqueue_dead",
        "An enqueue is reported as a duplicate of a job that will never run.",
        "queue::scripts::enqueue_with_caller_id_is_idempotent",
    ),
    mutant(
        "queue_enqueue_completion",
        "A repeated enqueue runs a completed job again.",
        "queue::scripts::enqueue_with_caller_id_is_idempotent",
    ),
    mutant(
        "queue_enqueue_unique",
        "A unique key deduplicates nothing.",
        "queue::scripts::unique_key_deduplicates_within_its_window",
    ),
    mutant(
        "queue_jobs_max",
        "A topic takes more jobs than its limit.",
        "queue::scripts::full_topic_rejects_job_by_job",
    ),
    mutant(
        "queue_bytes_max",
        "A topic takes more bytes than its limit.",
        "queue::scripts::full_topic_rejects_job_by_job",
    ),
    mutant(
        "queue_put_restores_dead",
        "A restored dead letter runs.",
        "queue::scripts::restored_job_keeps_its_attempts_and_state",
    ),
    mutant(
        "model_put_restores_dead",
        "A dead letter restored into the model runs.",
        "hermetic::models::queue::restored_job_keeps_its_attempts_and_state",
    ),
    mutant(
        "queue_counts_live_workers",
        "Killed workers are counted for ten minutes.",
        "queue::scripts::killed_worker_is_counted_for_a_minute",
    ),
    mutant(
        "model_counts_live_workers",
        "Killed workers are counted for ten minutes in the model.",
        "hermetic::models::queue::killed_worker_is_counted_for_a_minute",
    ),
    mutant(
        "queue_put_version",
        "A late replay of an old effect undoes a newer one.",
        "queue::scripts::newest_version_wins",
    ),
    mutant(
        "queue_put_fence",
        "A newer version of a job loses its fence, and after a clock was set back SQL rejects its next worker.",
        "queue::scripts::newer_version_keeps_the_fence",
    ),
    mutant(
        "queue_sequence_stale",
        "An overtaken call settles and claims for a worker that has moved on.",
        "queue::scripts::stale_call_changes_nothing",
    ),
    mutant(
        "queue_answer_kept",
        "Jobs of a claim whose reply was lost have no worker until their leases expire.",
        "queue::scripts::repeated_call_returns_the_same_reply",
    ),
    mutant("queue_paused", "A paused topic delivers jobs.", "queue::scripts::paused_topic_delivers_nothing"),
    mutant("queue_never_early", "Jobs start before they are due.", "queue::scripts::job_is_never_delivered_early"),
    mutant(
        "queue_past_is_now",
        "A job for a time in the past expires without having run, and overtakes older ones.",
        "queue::scripts::time_in_the_past_means_now",
    ),
    mutant("queue_expired", "A job runs after its deadline.", "queue::scripts::job_past_its_deadline_expires"),
    mutant(
        "queue_started_is_not_late",
        "A job whose first attempt started in time is dropped as late instead of retried.",
        "queue::scripts::started_job_is_retried_however_late",
    ),
    mutant(
        "model_started_is_not_late",
        "A job whose first attempt started in time is dropped as late instead of retried.",
        "hermetic::models::queue::started_job_is_retried_however_late",
    ),
    mutant(
        "queue_claim_bytes",
        "A claim of many large jobs is given up on the way, and requested again forever.",
        "queue::scripts::claim_returns_at_most_four_mebibytes",
    ),
    mutant(
        "model_claim_bytes",
        "A claim of many large jobs is given up on the way, and requested again forever.",
        "hermetic::models::queue::claim_returns_at_most_four_mebibytes",
    ),
    mutant(
        "queue_large_body_left_behind",
        "A large body travels with its claim, in front of all small calls of the process.",
        "queue::scripts::large_body_is_not_returned_with_its_claim",
    ),
    mutant(
        "queue_leaving_bytes",
        "All migrating jobs come in one reply, which is given up and requested again forever.",
        "queue::scripts::migration_batch_carries_at_most_four_mebibytes",
    ),
    mutant(
        "model_large_body_left_behind",
        "A large body travels with its claim, in front of all small calls of the process.",
        "hermetic::models::queue::large_body_is_not_returned_with_its_claim",
    ),
    mutant(
        "model_leaving_bytes",
        "All migrating jobs come in one reply, which is given up and requested again forever.",
        "hermetic::models::queue::migration_batch_carries_at_most_four_mebibytes",
    ),
    mutant(
        "queue_lists_bytes",
        "A page of large jobs is one reply, in front of all small calls of the process.",
        "queue::side::large::page_is_read_in_replies_of_four_mebibytes",
    ),
    mutant(
        "queue_suspect_places",
        "All jobs of a dead process run together again, and kill the next process.",
        "queue::scripts::suspects_are_claimed_a_few_at_a_time",
    ),
    mutant(
        "queue_shield",
        "A job that kills its worker takes its neighbors to the dead letters.",
        "queue::scripts::crash_is_not_counted_for_a_shielded_job",
    ),
    mutant(
        "queue_dies_alone",
        "A job becomes a dead letter because another one crashed their process.",
        "queue::scripts::job_is_dead_only_after_crashing_alone",
    ),
    mutant(
        "model_suspect_places",
        "All jobs of a dead process run together again, and kill the next process.",
        "hermetic::models::queue::suspects_are_claimed_a_few_at_a_time",
    ),
    mutant(
        "model_shield",
        "A job that kills its worker takes its neighbors to the dead letters.",
        "hermetic::models::queue::crash_is_not_counted_for_a_shielded_job",
    ),
    mutant(
        "model_dies_alone",
        "A job becomes a dead letter because another one crashed their process.",
        "hermetic::models::queue::job_is_dead_only_after_crashing_alone",
    ),
    mutant(
        "queue_fence_rises",
        "Two deliveries of a job have the same fence, and SQL accepts the older one's writes.",
        "queue::scripts::fences_rise_within_one_millisecond",
    ),
    mutant(
        "queue_fence_floor",
        "After a failover to an earlier clock SQL rejects every delivery.",
        "queue::scripts::fences_exceed_those_seen_by_sql",
    ),
    mutant(
        "queue_retries",
        "A job that always fails is retried forever.",
        "queue::scripts::failed_job_is_retried_and_then_dead",
    ),
    mutant(
        "queue_done_completion",
        "A job with a caller's id is forgotten as soon as it is done, and a repeated enqueue runs it again.",
        "queue::scripts::enqueue_with_caller_id_is_idempotent",
    ),
    mutant(
        "queue_revoke_completion",
        "A repeated revocation returns `Unknown`, and a late enqueue revives the job.",
        "queue::scripts::repeated_revoke_returns_the_same_result",
    ),
    mutant("queue_revoke_dead", "A revocation removes a dead letter.", "queue::scripts::revoke_reports_what_happened"),
    mutant(
        "queue_revoke_running",
        "A revocation reports success while the job runs.",
        "queue::scripts::revoke_reports_what_happened",
    ),
    mutant(
        "queue_reschedule_running",
        "A running job is rescheduled, and runs twice.",
        "queue::scripts::running_job_is_not_rescheduled",
    ),
    mutant(
        "queue_rescue_deadline",
        "A rescue takes jobs from healthy workers.",
        "queue::scripts::rescue_takes_only_expired_leases",
    ),
    mutant(
        "queue_rescue_exhausted",
        "A job that kills its worker is redelivered forever.",
        "queue::scripts::job_exceeding_its_crash_limit_is_dead",
    ),
    mutant(
        "queue_redrive_kept",
        "A resumed redrive begins anew, with another cutoff and filter.",
        "queue::scripts::redrive_skips_letters_that_died_later",
    ),
    mutant(
        "queue_redrive_once",
        "A letter that dies again is redriven forever.",
        "queue::scripts::redrive_moves_each_dead_letter_once",
    ),
    mutant(
        "queue_redrive_cutoff",
        "A redrive takes letters that died after it was started.",
        "queue::scripts::redrive_skips_letters_that_died_later",
    ),
    mutant(
        "queue_wake_markers",
        "Due jobs wait for the next poll.",
        "queue::scripts::claimable_jobs_leave_wake_up_markers",
    ),
    mutant(
        "queue_tick_once",
        "A slow scheduler enqueues a completed tick.",
        "queue::scripts::each_tick_is_enqueued_once",
    ),
    mutant(
        "queue_amend_seen",
        "Of two operators that edit a dead letter the later one undoes the earlier one's change.",
        "queue::scripts::dead_letter_is_amended_only_if_it_is_the_one_seen",
    ),
    mutant(
        "queue_amend_dead",
        "A job that may start at any moment gets another body.",
        "queue::scripts::only_dead_letters_are_amended",
    ),
    mutant(
        "queue_preview_cut",
        "A page of large jobs is read whole to show one line of each.",
        "queue::scripts::preview_has_only_the_beginning_of_a_body",
    ),
    mutant(
        "model_amend_seen",
        "Of two operators that edit a dead letter the later one undoes the earlier one's change.",
        "hermetic::models::queue::dead_letter_is_amended_only_if_it_is_the_one_seen",
    ),
    mutant(
        "model_amend_dead",
        "A job that may start at any moment gets another body.",
        "hermetic::models::queue::only_dead_letters_are_amended",
    ),
    mutant(
        "model_preview_cut",
        "A page of large jobs is read whole to show one line of each.",
        "hermetic::models::queue::preview_has_only_the_beginning_of_a_body",
    ),
];
