//! The delay queue's guards: lines of its scripts.

use super::{Mutant, mutant};

/// In the order of the steps.
pub(super) const ROWS: &[Mutant] = &[
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
        "queue_enqueue_stamp",
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
        "hermetic::queue_model::restored_job_keeps_its_attempts_and_state",
    ),
    mutant(
        "queue_counts_live_workers",
        "Killed workers are counted for ten minutes.",
        "queue::scripts::killed_worker_is_counted_for_a_minute",
    ),
    mutant(
        "model_counts_live_workers",
        "Killed workers are counted for ten minutes in the model.",
        "hermetic::queue_model::killed_worker_is_counted_for_a_minute",
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
    mutant("queue_expired", "A job runs after its deadline.", "queue::scripts::job_past_its_deadline_expires"),
    mutant(
        "queue_claim_bytes",
        "A claim of many large jobs is given up on the way, and requested again forever.",
        "queue::scripts::claim_returns_at_most_four_mebibytes",
    ),
    mutant(
        "model_claim_bytes",
        "A claim of many large jobs is given up on the way, and requested again forever.",
        "hermetic::queue_model::claim_returns_at_most_four_mebibytes",
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
        "hermetic::queue_model::large_body_is_not_returned_with_its_claim",
    ),
    mutant(
        "model_leaving_bytes",
        "All migrating jobs come in one reply, which is given up and requested again forever.",
        "hermetic::queue_model::migration_batch_carries_at_most_four_mebibytes",
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
        "hermetic::queue_model::suspects_are_claimed_a_few_at_a_time",
    ),
    mutant(
        "model_shield",
        "A job that kills its worker takes its neighbors to the dead letters.",
        "hermetic::queue_model::crash_is_not_counted_for_a_shielded_job",
    ),
    mutant(
        "model_dies_alone",
        "A job becomes a dead letter because another one crashed their process.",
        "hermetic::queue_model::job_is_dead_only_after_crashing_alone",
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
        "queue_done_stamp",
        "A job with a caller's id is forgotten as soon as it is done, and a repeated enqueue runs it again.",
        "queue::scripts::enqueue_with_caller_id_is_idempotent",
    ),
    mutant(
        "queue_revoke_stamp",
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
    // The user's side.
    mutant(
        "queue_free_slots",
        "A process claims more than it can run, and the leases expire while the jobs wait in it.",
        "claims::memory::consumer_claims_no_more_than_its_free_slots",
    ),
    mutant(
        "queue_own_timer",
        "A job starts at the next poll, up to a second late.",
        "claims::memory::job_starts_when_due_and_not_before",
    ),
    mutant(
        "queue_heard_is_kept",
        "A shard worker notified while another one holds all slots starts the job up to a second late.",
        "claims::memory::shard_worker_without_a_slot_keeps_its_wake_up",
    ),
    mutant(
        "queue_cancel_lost",
        "A handler continues next to the one that has its job now.",
        "leases::memory::lost_lease_cancels_its_handler",
    ),
    mutant(
        "queue_shield_first",
        "A suspect starts, and kills its process, before the store has shielded its neighbors.",
        "suspects::memory::jobs_on_all_shards_are_shielded_before_a_suspect_starts",
    ),
    mutant(
        "queue_place_is_freed",
        "A suspect that hangs keeps all others waiting.",
        "suspects::memory::surviving_suspect_frees_its_place",
    ),
    mutant(
        "queue_start_reported_first",
        "A job that kills its process at once is never identified.",
        "suspects::memory::start_of_a_crashed_job_is_reported_before_the_run",
    ),
    mutant(
        "queue_panic_is_an_error",
        "A panic of the handler counts as success.",
        "failures::memory::handler_panic_is_a_failed_attempt",
    ),
    mutant(
        "queue_delay_clamped",
        "An endless delay makes the job a dead letter.",
        "answers::memory::endless_delay_does_not_block_the_consumer",
    ),
    mutant(
        "queue_fence_bounded",
        "An impossible fence leaves no room for later ones.",
        "answers::memory::impossible_fence_does_not_raise_later_fences",
    ),
    mutant(
        "queue_attempt_caught",
        "A job whose body panics in `Drop` keeps its lease forever.",
        "sweeps::sqlite::panic_in_the_drop_of_a_body_frees_its_lease",
    ),
    mutant(
        "queue_decode_caught",
        "A body that panics its decoder is retried again and again.",
        "queue::side::hostile::memory::misbehaving_handler_fails_only_its_attempt",
    ),
    mutant(
        "queue_codec_recorded",
        "A body of another codec is decoded as another value.",
        "codecs::redis::body_is_decoded_by_its_own_codec",
    ),
    mutant(
        "queue_edit_names_codec",
        "An edited body is decoded by the codec of the earlier one.",
        "codecs::redis::edited_body_has_its_own_codec_id",
    ),
    mutant(
        "model_edit_names_codec",
        "An edited body is decoded by the codec of the earlier one.",
        "codecs::memory::edited_body_has_its_own_codec_id",
    ),
    mutant(
        "codec_trailing_bytes",
        "Bytes of another codec are decoded as the value they begin with.",
        "codec::tests::trailing_bytes_are_rejected",
    ),
    mutant(
        "queue_codec_id_checked",
        "A user's codec has an id that is reserved for Evenkeel.",
        "codecs::reserved_codec_ids_are_rejected_in_memory",
    ),
    mutant(
        "queue_registers_again",
        "After a flush the register lacks the topics that programs use.",
        "registered::consumer_registers_its_topic_again_after_a_flush",
    ),
    mutant(
        "queue_limits_again",
        "After a flush a queue accepts more than its limit.",
        "registered::limits_are_set_again_after_a_flush",
    ),
    mutant(
        "model_forgets_enough",
        "The embedded store keeps expired records when jobs arrive in bulk.",
        "queue::memory::tests::expired_records_are_removed_as_fast_as_added",
    ),
    mutant(
        "model_empty_forgotten",
        "The embedded store forgets jobs, pauses and limits among many topics.",
        "queue::memory::tests::empty_shard_is_forgotten_among_many",
    ),
    mutant(
        "queue_schedule_agreed",
        "Each program advances a schedule by its own expression.",
        "periods::memory::newest_schedule_definition_wins_and_loses_no_tick",
    ),
    mutant(
        "queue_undecodable_is_dead",
        "An undecodable body is retried again and again.",
        "failures::memory::undecodable_body_is_dead_at_once",
    ),
    mutant(
        "queue_lost_reply_asked_again",
        "Jobs of a claim whose reply was lost have no worker.",
        "queue::side::faults::lost_reply_is_requested_again",
    ),
    mutant(
        "queue_give_back",
        "A job not done at shutdown waits for its lease to expire.",
        "ends::memory::job_not_done_at_shutdown_is_released",
    ),
    mutant(
        "queue_grown_refuses",
        "Two shards accept the same id while a topic grows, and its job runs twice.",
        "queue::scripts::closed_shard_rejects_jobs_of_another_shard",
    ),
    mutant(
        "queue_give_leased",
        "A running job is sent to another shard, and its worker is no longer current.",
        "queue::scripts::migrating_job_is_in_no_shard_until_received",
    ),
    mutant(
        "queue_adopt_once",
        "A late migration restores a completed job.",
        "queue::scripts::late_migration_batch_is_rejected",
    ),
    mutant(
        "queue_grown_once",
        "An overtaken growth sets the number of shards back, and jobs are looked up in the wrong shard.",
        "queue::grown::overtaken_growth_changes_nothing",
    ),
    mutant(
        "queue_pause_topic",
        "While a dependency of all jobs is down, one after the other is tried in vain.",
        "failures::memory::handler_can_pause_the_topic",
    ),
    mutant(
        "queue_batch_fill",
        "A batch, and its first job, wait forever for the batch to fill.",
        "batches::memory::incomplete_batch_starts_after_its_wait",
    ),
    mutant(
        "queue_batch_cancel",
        "A batch that lost all of its leases continues next to its successors.",
        "batches::memory::batch_whose_leases_are_all_lost_is_dropped",
    ),
    mutant(
        "queue_refuses_eviction",
        "A queue is opened on a Redis that drops jobs when it is full.",
        "openings::redis_with_eviction_is_rejected_by_default",
    ),
    mutant(
        "queue_refuses_disk",
        "Disk durability is accepted on a server that cannot confirm its writes.",
        "openings::disk_durability_requires_an_append_only_file",
    ),
    mutant(
        "queue_durable",
        "A job counts as accepted although no replica has it.",
        "durable::enqueue_waits_for_the_configured_replicas",
    ),
    mutant(
        "queue_settings_checked",
        "An invalid setting is accepted, and fails with the first job.",
        "queue::side::extremes::memory::queue_with_extreme_settings_works_or_is_rejected",
    ),
];
