//! The guards of the delay queue as users see it.

use crate::mutants::{Mutant, mutant};

/// In the order of the sources.
pub(super) const ROWS: &[Mutant] = &[
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
        "queue_notification_is_retained",
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
        "suspects::memory::suspect_that_outlives_a_lease_frees_its_slot",
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
        "queue_latest_due_time",
        "The effect of a job with the longest delay is refused after its commit until it is parked.",
        "sql::extremes::sqlite::job_with_the_longest_delay_is_in_its_queue",
    ),
    mutant(
        "queue_settleable",
        "A result that can never be settled blocks every settlement of its consumer.",
        "queue::consume::shard::tests::rejected_outcome_is_dead_with_the_reason",
    ),
    mutant(
        "queue_lasting_given_up",
        "A call that this process rejects is repeated forever.",
        "queue::consume::shard::work::tests::only_a_permanent_error_ends_a_call",
    ),
    mutant(
        "queue_bulk_deadline",
        "A reply of many mebibytes has the time of a small one, and times out at every attempt.",
        "step::bulk::tests::deadline_grows_with_the_bytes",
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
        "queue::side::failures::hostile::memory::misbehaving_handler_fails_only_its_attempt",
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
        "queue::side::failures::faults::lost_reply_is_requested_again",
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
        "queue_send_leased",
        "A running job is sent to another shard, and its worker is no longer current.",
        "queue::scripts::migrating_job_is_in_no_shard_until_received",
    ),
    mutant(
        "queue_receive_once",
        "A late migration restores a completed job.",
        "queue::scripts::late_migration_batch_is_rejected",
    ),
    mutant(
        "queue_grown_once",
        "An overtaken growth sets the number of shards back, and jobs are looked up in the wrong shard.",
        "queue::grown::overtaken_growth_changes_nothing",
    ),
    mutant(
        "queue_lower_fence_waits",
        "A job whose handler reports a fence lower than its own runs thousands of times a second.",
        "answers::memory::fence_lower_than_the_own_one_is_retried_after_a_delay",
    ),
    mutant(
        "queue_pause_holds_its_job",
        "A job that met an outage waits for the whole span of its pause, although the pause was ended.",
        "failures::memory::resumed_topic_delivers_the_job_that_paused_it",
    ),
    mutant(
        "queue_pause_topic",
        "While a dependency of all jobs is down, one after the other is tried in vain.",
        "failures::memory::handler_can_pause_the_topic",
    ),
    mutant(
        "queue_batch_fill",
        "A batch, and its first job, wait forever for the batch to fill.",
        "queue::side::consuming::batches::memory::incomplete_batch_starts_after_its_wait",
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
    mutant(
        "queue_growth_restored",
        "After a flush programs that start later open the first shards of a grown topic alone.",
        "registered::grown_topic_keeps_its_shards_after_a_flush",
    ),
    mutant(
        "queue_shards_closed_again",
        "After a flush a program that does not know of the growth puts jobs into shards in which others do not look for them.",
        "registered::grown_topic_keeps_its_shards_after_a_flush",
    ),
    mutant(
        "queue_growth_resumed",
        "A growth during a flush ends, and the topic counts as growing from then on.",
        "registered::growth_interrupted_by_a_flush_completes",
    ),
    mutant(
        "queue_closed_ends_calls",
        "A consumer whose keel was shut down repeats its call until its drain ends.",
        "queue::side::failures::faults::consumer_with_a_call_in_flight_ends_with_its_keel",
    ),
    mutant(
        "queue_attempt_logged",
        "The log does not say which attempt of a job failed.",
        "logged::memory::failed_attempts_are_logged_with_number_and_reason",
    ),
    mutant(
        "queue_reason_as_text",
        "The log shows the reason of a dead letter as bytes.",
        "logged::memory::failed_attempts_are_logged_with_number_and_reason",
    ),
    mutant(
        "queue_refusal_logged",
        "Redis refuses every call of a consumer, and only a metric shows it.",
        "queue::side::neighbors::foreign_type_under_a_queue_key_stops_only_its_shard",
    ),
    mutant(
        "queue_schedule_body_caught",
        "A schedule whose body panics ends the task of its program.",
        "queue::side::sentences::memory::tick_whose_body_panics_is_an_error",
    ),
    mutant(
        "watch_unreachable",
        "A watch is silent while Redis is away.",
        "queue::topic::watch_reports_an_unreachable_redis_once",
    ),
    mutant(
        "queue_redrive_named_jobs",
        "Who continues a redrive of some jobs without naming them takes every matching dead letter.",
        "queue::topic::redrive_of_named_jobs_is_not_continued_without_names",
    ),
    mutant(
        "watch_hook_caught",
        "A panic in the hook of a watch ends it: no later alert is raised.",
        "queue::side::callbacks::memory::watch_continues_after_a_panic_in_its_hook",
    ),
    mutant(
        "queue_registers_independent",
        "A consumer that cannot read the register of topics does not see the growth of its topic.",
        "queue::side::neighbors::consumer_follows_growth_without_the_register_of_topics",
    ),
    mutant(
        "queue_schedule_unregistered",
        "A schedule enqueues no tick while another program's value is under the key of its register.",
        "queue::side::neighbors::foreign_type_in_place_of_the_register_of_schedules_stops_no_schedule",
    ),
];
