//! The delay queue's guards: lines of its scripts.

use super::{Mutant, mutant};

/// In the order of the steps.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "queue_lease_clock",
        "A clock that is set back prolongs every lease by as much.",
        "queue::scripts::a_clock_set_back_does_not_prolong_a_lease",
    ),
    mutant(
        "queue_token",
        "An ack that arrives twice ends the next job of that id.",
        "queue::scripts::a_repeated_ack_leaves_the_next_job_of_that_id_alone",
    ),
    mutant(
        "queue_fence",
        "Two workers that drew the same token settle each other's deliveries.",
        "queue::scripts::a_token_that_returns_is_told_apart_by_its_fence",
    ),
    mutant(
        "queue_senders_bound",
        "While a Redis stands still, those who send fill the memory.",
        "queue::senders::one_sender_too_many_is_turned_away",
    ),
    mutant(
        "queue_gone_sends_nothing",
        "A caller that gave up while its job waited to be sent finds it sent later.",
        "queue::senders::a_sender_that_went_away_in_time_sends_nothing",
    ),
    mutant(
        "queue_enqueue_id",
        "A repeated enqueue puts a job that runs back to wait, and its worker is not current any more.",
        "queue::scripts::a_callers_id_makes_enqueueing_idempotent",
    ),
    mutant(
        "queue_enqueue_dead",
        "An enqueue is answered as a duplicate of a job that will never run.",
        "queue::scripts::a_callers_id_makes_enqueueing_idempotent",
    ),
    mutant(
        "queue_enqueue_stamp",
        "A repeated enqueue runs a job again that is done.",
        "queue::scripts::a_callers_id_makes_enqueueing_idempotent",
    ),
    mutant(
        "queue_enqueue_unique",
        "A unique key deduplicates nothing.",
        "queue::scripts::a_unique_key_deduplicates_within_its_window",
    ),
    mutant("queue_jobs_max", "A topic takes more jobs than its limit.", "queue::scripts::a_full_topic_says_so_per_job"),
    mutant(
        "queue_bytes_max",
        "A topic takes more bytes than its limit.",
        "queue::scripts::a_full_topic_says_so_per_job",
    ),
    mutant(
        "queue_put_restores_dead",
        "A dead letter that is put back runs.",
        "queue::scripts::a_job_is_put_back_with_its_past",
    ),
    mutant(
        "model_put_restores_dead",
        "A dead letter that is put back into the model runs.",
        "hermetic::queue_model::a_job_is_put_back_with_its_past",
    ),
    mutant(
        "queue_counts_live_workers",
        "Workers that were killed are counted for ten minutes.",
        "queue::scripts::a_killed_worker_is_counted_for_a_minute",
    ),
    mutant(
        "model_counts_live_workers",
        "Workers that were killed are counted for ten minutes in the model.",
        "hermetic::queue_model::a_killed_worker_is_counted_for_a_minute",
    ),
    mutant(
        "queue_put_version",
        "A late replay of an old effect undoes a newer one.",
        "queue::scripts::the_newest_version_wins",
    ),
    mutant(
        "queue_put_fence",
        "A newer version of a job forgets its fence, and after a clock was set back SQL refuses its next worker.",
        "queue::scripts::a_newer_version_keeps_the_fence",
    ),
    mutant(
        "queue_sequence_stale",
        "A call that was overtaken settles and claims for a worker that has moved on.",
        "queue::scripts::a_stale_call_changes_nothing",
    ),
    mutant(
        "queue_answer_kept",
        "What a lost reply had leased is leased to nobody until its lease runs out.",
        "queue::scripts::a_lost_reply_is_repeated",
    ),
    mutant("queue_paused", "A paused topic gives jobs.", "queue::scripts::a_paused_topic_gives_nothing"),
    mutant("queue_never_early", "Jobs start before they are due.", "queue::scripts::a_job_is_never_early"),
    mutant("queue_expired", "A job runs that is later than it may be.", "queue::scripts::a_late_job_expires"),
    mutant(
        "queue_claim_bytes",
        "A claim of many large jobs is given up on the way, and asked for again for ever.",
        "queue::scripts::a_claim_takes_at_most_four_mebibytes",
    ),
    mutant(
        "model_claim_bytes",
        "A claim of many large jobs is given up on the way, and asked for again for ever.",
        "hermetic::queue_model::a_claim_takes_at_most_four_mebibytes",
    ),
    mutant(
        "queue_large_body_left_behind",
        "A large body travels with its claim, in front of all small calls of the process.",
        "queue::scripts::a_large_body_is_left_behind_by_its_claim",
    ),
    mutant(
        "queue_leaving_bytes",
        "All that is on its way to a new shard comes in one answer, which is given up and asked for again for ever.",
        "queue::scripts::a_step_of_growing_carries_four_mebibytes",
    ),
    mutant(
        "model_large_body_left_behind",
        "A large body travels with its claim, in front of all small calls of the process.",
        "hermetic::queue_model::a_large_body_is_left_behind_by_its_claim",
    ),
    mutant(
        "model_leaving_bytes",
        "All that is on its way to a new shard comes in one answer, which is given up and asked for again for ever.",
        "hermetic::queue_model::a_step_of_growing_carries_four_mebibytes",
    ),
    mutant(
        "queue_lists_bytes",
        "A page of large jobs is one answer, in front of all small calls of the process.",
        "queue::side::large::a_page_comes_in_answers_of_four_mebibytes",
    ),
    mutant(
        "queue_suspect_places",
        "All that ran when a process died runs together again, and takes the next process down.",
        "queue::scripts::few_suspects_are_claimed_at_once",
    ),
    mutant(
        "queue_shield",
        "A job that kills its worker takes its neighbors to the dead letters.",
        "queue::scripts::a_shielded_job_does_not_crash",
    ),
    mutant(
        "queue_dies_alone",
        "A job is dead because of another one that crashed their process.",
        "queue::scripts::a_job_is_dead_only_after_it_crashed_alone",
    ),
    mutant(
        "model_suspect_places",
        "All that ran when a process died runs together again, and takes the next process down.",
        "hermetic::queue_model::few_suspects_are_claimed_at_once",
    ),
    mutant(
        "model_shield",
        "A job that kills its worker takes its neighbors to the dead letters.",
        "hermetic::queue_model::a_shielded_job_does_not_crash",
    ),
    mutant(
        "model_dies_alone",
        "A job is dead because of another one that crashed their process.",
        "hermetic::queue_model::a_job_is_dead_only_after_it_crashed_alone",
    ),
    mutant(
        "queue_fence_rises",
        "Two deliveries of a job have the same fence, and SQL accepts the older one's writes.",
        "queue::scripts::fences_rise_within_one_millisecond",
    ),
    mutant(
        "queue_fence_floor",
        "After a failover to an older clock every delivery is refused by SQL.",
        "queue::scripts::fences_rise_above_what_sql_has_seen",
    ),
    mutant(
        "queue_retries",
        "A job that always fails is tried for ever.",
        "queue::scripts::a_failed_job_is_retried_and_then_dead",
    ),
    mutant(
        "queue_done_stamp",
        "What a caller named is forgotten as soon as it is done, and a resent enqueue runs it again.",
        "queue::scripts::a_callers_id_makes_enqueueing_idempotent",
    ),
    mutant(
        "queue_revoke_stamp",
        "A repeated revocation is answered as unknown, and a late enqueue brings the job back.",
        "queue::scripts::a_repeated_revoke_says_the_same",
    ),
    mutant("queue_revoke_dead", "A revocation removes a dead letter.", "queue::scripts::revoke_says_what_happened"),
    mutant(
        "queue_revoke_running",
        "A revocation is answered as a success while the job runs.",
        "queue::scripts::revoke_says_what_happened",
    ),
    mutant(
        "queue_reschedule_running",
        "A job that runs is moved, and runs twice.",
        "queue::scripts::a_running_job_is_not_moved",
    ),
    mutant(
        "queue_rescue_deadline",
        "A rescue takes jobs from workers that are well.",
        "queue::scripts::a_rescue_takes_only_what_has_lapsed",
    ),
    mutant(
        "queue_rescue_exhausted",
        "A job that kills its worker is given out for ever.",
        "queue::scripts::a_job_that_crashes_too_often_is_dead",
    ),
    mutant(
        "queue_redrive_kept",
        "A redrive that goes on begins anew, with another cutoff and filter.",
        "queue::scripts::a_redrive_leaves_what_died_later",
    ),
    mutant(
        "queue_redrive_once",
        "A letter that dies again goes round for ever.",
        "queue::scripts::a_redrive_takes_each_dead_letter_once",
    ),
    mutant(
        "queue_redrive_cutoff",
        "A redrive takes what died after somebody decided on it.",
        "queue::scripts::a_redrive_leaves_what_died_later",
    ),
    mutant(
        "queue_wake_markers",
        "Work that is due waits until somebody looks.",
        "queue::scripts::claimable_work_leaves_markers",
    ),
    mutant(
        "queue_tick_once",
        "A slow scheduler enqueues a tick that is done already.",
        "queue::scripts::each_tick_is_taken_in_once",
    ),
    // The user's side.
    mutant(
        "queue_free_slots",
        "A process claims more than it can run, and the leases run out while the jobs wait in it.",
        "queue::side::claims::memory::no_more_is_claimed_than_there_are_free_slots",
    ),
    mutant(
        "queue_own_timer",
        "A job starts when somebody happens to look, up to a second late.",
        "queue::side::claims::memory::a_job_starts_when_it_is_due_and_not_before",
    ),
    mutant(
        "queue_heard_is_kept",
        "A lane that hears of a job while another lane holds all slots begins it up to a second late.",
        "queue::side::claims::memory::a_lane_that_finds_no_slot_remembers_what_it_heard",
    ),
    mutant(
        "queue_cancel_lost",
        "A handler goes on beside the one that has its job now.",
        "queue::side::leases::memory::a_lost_lease_cancels_its_handler",
    ),
    mutant(
        "queue_shield_first",
        "A suspect begins, and kills its process, before the store knows that its neighbors are innocent.",
        "queue::side::suspects::memory::neighbors_on_all_shards_are_shielded_before_a_suspect_begins",
    ),
    mutant(
        "queue_place_is_freed",
        "A suspect that hangs keeps all others waiting.",
        "queue::side::suspects::memory::a_suspect_that_survives_gives_its_place_to_the_next",
    ),
    mutant(
        "queue_start_reported_first",
        "A job that kills its process at once is never found out.",
        "queue::side::suspects::memory::the_start_of_a_crashed_job_is_reported_before_it_runs",
    ),
    mutant(
        "queue_panic_is_an_error",
        "A handler that panicked is taken to have done its job.",
        "queue::side::failures::memory::a_panic_is_an_error",
    ),
    mutant(
        "queue_delay_clamped",
        "A delay without end is no delay but a dead letter.",
        "queue::side::answers::memory::an_endless_delay_does_not_wedge_the_consumer",
    ),
    mutant(
        "queue_fence_bounded",
        "A fence that no delivery had leaves no room for later ones.",
        "queue::side::answers::memory::a_fence_of_nobody_does_not_spoil_later_fences",
    ),
    mutant(
        "queue_attempt_caught",
        "A job whose body panics when it is dropped keeps its lease for ever.",
        "sql::sweeps::sqlite::body_that_panics_when_dropped_does_not_keep_its_lease",
    ),
    mutant(
        "queue_decode_caught",
        "A body that panics when it is read is tried again and again.",
        "queue::side::hostile::memory::misbehaving_user_code_ends_only_its_own_attempt",
    ),
    mutant(
        "queue_codec_recorded",
        "A body of another codec is read as another value.",
        "queue::side::codecs::redis::a_body_of_another_codec_is_read_by_that_codec",
    ),
    mutant(
        "queue_edit_names_codec",
        "An edited body is read by the codec of the one before it.",
        "queue::side::codecs::redis::an_edited_body_names_its_own_codec",
    ),
    mutant(
        "model_edit_names_codec",
        "An edited body is read by the codec of the one before it.",
        "queue::side::codecs::memory::an_edited_body_names_its_own_codec",
    ),
    mutant(
        "codec_trailing_bytes",
        "Bytes of another codec are read as the value they begin with.",
        "codec::tests::bytes_behind_a_value_are_refused",
    ),
    mutant(
        "queue_codec_id_checked",
        "A codec of the user's passes for one of Evenkeel's.",
        "queue::side::codecs::codec_ids_of_others_are_refused_in_memory",
    ),
    mutant(
        "queue_registers_again",
        "After a flush nobody knows of the topics that programs use.",
        "queue::side::registered::a_consumer_registers_its_topic_again_after_a_flush",
    ),
    mutant(
        "queue_limits_again",
        "After a flush a queue takes in more than its limit.",
        "queue::side::registered::limits_are_set_again_after_a_flush",
    ),
    mutant(
        "model_forgets_enough",
        "The embedded store keeps what has run out, if jobs come in bulk.",
        "queue::memory::tests::what_has_run_out_is_forgotten_as_fast_as_it_comes",
    ),
    mutant(
        "model_empty_forgotten",
        "The embedded store forgets jobs, pauses and limits among many topics.",
        "queue::memory::tests::a_shard_that_holds_nothing_is_forgotten_among_many",
    ),
    mutant(
        "queue_schedule_agreed",
        "Each program moves a schedule on by its own expression.",
        "queue::side::periods::memory::the_newest_definition_of_a_schedule_counts_and_loses_no_tick",
    ),
    mutant(
        "queue_undecodable_is_dead",
        "A body that nobody can read is tried again and again.",
        "queue::side::failures::memory::an_undecodable_body_is_dead_at_once",
    ),
    mutant(
        "queue_lost_reply_asked_again",
        "What a lost answer had leased is leased to nobody.",
        "queue::side::faults::a_lost_answer_is_asked_for_again",
    ),
    mutant(
        "queue_give_back",
        "What a consumer could not end waits for its lease.",
        "queue::side::ends::memory::what_does_not_end_in_time_is_given_back",
    ),
    mutant(
        "queue_grown_refuses",
        "Two shards take the same id in while a topic grows, and its job runs twice.",
        "queue::scripts::a_closed_shard_takes_in_nothing_that_another_keeps",
    ),
    mutant(
        "queue_give_leased",
        "A job that runs is given to another shard, and its worker is not current any more.",
        "queue::scripts::what_is_given_is_nowhere_until_it_is_adopted",
    ),
    mutant(
        "queue_adopt_once",
        "A mover that comes late brings back a job that is done.",
        "queue::scripts::a_parcel_that_comes_late_is_not_taken_again",
    ),
    mutant(
        "queue_grown_once",
        "A growth that was overtaken sets the topic's number of shards back, and its jobs are looked for where they are not.",
        "queue::grown::a_growth_that_was_overtaken_changes_nothing",
    ),
    mutant(
        "queue_pause_topic",
        "While what all jobs need is down, one after the other is tried in vain.",
        "queue::side::failures::memory::a_handler_pauses_the_topic_while_what_it_needs_is_down",
    ),
    mutant(
        "queue_batch_fill",
        "A batch waits until it is full, and its first job with it, for ever.",
        "queue::side::batches::memory::a_batch_that_does_not_fill_starts_in_time",
    ),
    mutant(
        "queue_batch_cancel",
        "A batch that lost all of its leases runs on beside its successors.",
        "queue::side::batches::memory::a_batch_that_is_lost_as_a_whole_is_dropped",
    ),
    mutant(
        "queue_refuses_eviction",
        "A queue is opened on a Redis that drops jobs when it is full.",
        "queue::side::openings::a_redis_that_evicts_is_refused_unless_told_otherwise",
    ),
    mutant(
        "queue_refuses_disk",
        "A disk is promised by a server that cannot say when it has written.",
        "queue::side::openings::a_disk_is_promised_only_where_there_is_one",
    ),
    mutant(
        "queue_durable",
        "A job counts as accepted although no replica has it.",
        "queue::side::durable::a_job_is_accepted_when_so_many_replicas_have_it",
    ),
    mutant(
        "queue_settings_checked",
        "A setting that cannot work is taken, and fails with the first job.",
        "queue::side::extremes::memory::a_queue_with_extreme_settings_works_or_is_refused",
    ),
];
