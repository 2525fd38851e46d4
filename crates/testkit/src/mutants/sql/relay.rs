//! The relay's and the sinks' guards.

use crate::mutants::{Mutant, mutant};

/// Sinks first.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "stream_sink_sequence",
        "A late duplicate is published again, and readers go back in time.",
        "sql::sink::stream::sequence_is_accepted_once",
    ),
    mutant(
        "stream_sink_sequence",
        "In the model a late duplicate is published again.",
        "sql::sink::stream_model::sequence_is_accepted_once",
    ),
    mutant(
        "stream_sink_foreign_type",
        "A foreign value under the key of a sequence fails a call whose other messages are appended, and each repeat appends them again.",
        "sql::sink::foreign::foreign_value_under_a_sequence_is_replaced",
    ),
    mutant("stream_sink_full", "A stream grows above its limit.", "sql::sink::stream::full_stream_rejects_messages"),
    mutant(
        "stream_sink_full",
        "In the model a stream grows above its limit.",
        "sql::sink::stream_model::full_stream_rejects_messages",
    ),
    mutant(
        "model_stream_sink_forgets",
        "In memory the last sequence of every key is kept forever.",
        "sql::sink::stream::memory::tests::expired_sequences_are_removed",
    ),
    mutant(
        "relay_fence",
        "A relay with an expired claim marks a unit of work as done that another one holds.",
        "sql::relay::sqlite::trouble::overtaken_relay_changes_nothing",
    ),
    mutant(
        "relay_ordered_fence",
        "A relay with an expired claim sets a key back, and its messages are sent again.",
        "sql::relay::sqlite::trouble::overtaken_relay_does_not_set_a_key_back",
    ),
    mutant(
        "relay_contiguous",
        "A message is sent although the one before it is missing.",
        "ordered::plan::tests::messages_after_a_gap_wait",
    ),
    mutant(
        "relay_stops_at_a_failure",
        "A failed message is skipped and never sent.",
        "sql::relay::sqlite::order::failure_holds_the_later_messages_of_its_key",
    ),
    mutant(
        "relay_recalls",
        "After the database's clock was set back by an hour, effects wait for an hour.",
        "sql::relay::sqlite::trouble::clock_of_the_database_set_back_delays_nothing_for_long",
    ),
    mutant(
        "relay_parks",
        "A poison message is retried forever.",
        "sql::relay::sqlite::trouble::unit_of_work_that_exceeds_its_attempts_is_parked",
    ),
    mutant(
        "relay_away_is_no_attempt",
        "An hour without the broker parks every waiting message.",
        "sql::relay::sqlite::trouble::unavailable_sink_uses_no_attempts",
    ),
    mutant(
        "relay_gate",
        "A relay claims and releases the whole backlog again and again while the broker is away.",
        "sql::relay::sqlite::trouble::unavailable_sink_uses_no_attempts",
    ),
    mutant(
        "claim_locks_no_gaps",
        "On MySQL and MariaDB a relay's claim keeps producers from inserting next to claimed rows.",
        "sql::relay::mariadb::gaps::claim_does_not_block_producers",
    ),
    mutant(
        "commit_notifies",
        "A message waits for the next poll of a relay in another process.",
        "sql::relay::postgres::wake::commit_wakes_a_relay_of_another_process",
    ),
    mutant(
        "commit_carries_notification",
        "A process that dies right after its commit has sent no notification, although configured to.",
        "sql::relay::postgres::wake::notification_can_be_sent_within_the_commit",
    ),
    mutant(
        "reconnect_is_a_wake_up",
        "A commit made while the relay's listening connection was away waits for the next commit.",
        "sql::relay::postgres::wake::relay_finds_commits_made_while_not_listening",
    ),
    mutant(
        "relay_settles_again",
        "Sent messages are not recorded after a short outage: their key waits for the claim to expire.",
        "sql::relay::sqlite::again::sent_messages_are_recorded_after_an_outage",
    ),
    mutant(
        "relay_settles_again",
        "Effects are carried out again after the claim's expiry, if the database was away for a moment.",
        "sql::relay::sqlite::again::carried_out_rows_are_recorded_after_an_outage",
    ),
    mutant(
        "relay_gives_back_claims",
        "Rows claimed by a failed pass wait for the claim to expire.",
        "sql::relay::sqlite::again::next_pass_sends_what_a_failed_pass_had_claimed",
    ),
    mutant(
        "relay_retention",
        "Rows are deleted that are not carried out, or that still decide on a commit.",
        "sql::relay::sqlite::loops::done_rows_are_deleted_after_the_retention",
    ),
    mutant(
        "relay_gates_are_separate",
        "An unavailable sink also closes the gate for every other destination.",
        "sql::relay::sqlite::attacked::unavailable_sink_does_not_delay_other_units_of_work",
    ),
    mutant(
        "json_waits_for_redis",
        "Effects of another program are given up because Redis did not reply when they were old.",
        "sql::relay::sqlite::json::row_waits_while_redis_is_away_however_old_it_is",
    ),
    mutant(
        "json_waits_for_topic",
        "Effects of a program in another language are parked because the program that opens the queue has not started yet.",
        "sql::relay::sqlite::json::row_waits_for_a_topic_that_no_program_has_opened",
    ),
    mutant(
        "json_due_at_once",
        "Effects of a program in another language wait two seconds for a fast path that does not exist.",
        "sql::relay::sqlite::json::inserted_effects_are_carried_out",
    ),
    mutant(
        "relay_parks_unrouted",
        "A unit of work without a taker waits forever, without a warning.",
        "sql::relay::sqlite::attacked::work_without_a_route_is_parked_after_its_time",
    ),
    mutant(
        "relay_tests_in_turn",
        "A message for which its sink is unavailable holds all messages that have failed before.",
        "sql::relay::sqlite::attacked::sink_unavailable_for_one_message_gets_the_others",
    ),
    mutant(
        "relay_counts_hangs",
        "A message at which its sink hangs is retried forever.",
        "sql::relay::sqlite::attacked::hanging_or_panicking_sink_parks_only_its_message",
    ),
    mutant(
        "sink_panics_are_caught",
        "A panic in a sink ends the relay's loop, and everything claimed waits for the claim to expire.",
        "sql::relay::sqlite::attacked::hanging_or_panicking_sink_parks_only_its_message",
    ),
    mutant(
        "relay_claims_are_bounded",
        "A relay reads two hundred units of work at once, however large they are.",
        "sql::relay::sqlite::attacked::claim_is_bounded_by_its_bytes",
    ),
    mutant(
        "relay_spans_shortened",
        "An endless span overflows where the database adds it to a time.",
        "sql::relay::mariadb::attacked::relay_works_with_extreme_settings",
    ),
    mutant(
        "ordered_ids_fit_an_inbox",
        "No inbox accepts the id of a message with a long topic and key, so it is never processed.",
        "sql::extremes::sqlite::message_with_the_longest_names_is_processed_once",
    ),
    mutant(
        "stream_sink_deduplication_bounded",
        "Redis rejects every message of a sink that retains sequences forever.",
        "sql::extremes::stream_on_redis_accepts_extreme_messages",
    ),
];
