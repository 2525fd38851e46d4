//! The relay's and the sinks' guards.

use super::{Mutant, mutant};

/// Sinks first.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "stream_sink_sequence",
        "A copy that comes late is published again, and readers go back in time.",
        "sql::sink::stream::a_sequence_is_taken_once",
    ),
    mutant(
        "stream_sink_sequence",
        "In the model a copy that comes late is published again.",
        "sql::sink::stream_model::a_sequence_is_taken_once",
    ),
    mutant(
        "stream_sink_full",
        "A stream grows above the length at which it should refuse.",
        "sql::sink::stream::a_full_stream_takes_nothing_more",
    ),
    mutant(
        "stream_sink_full",
        "In the model a stream grows above the length at which it should refuse.",
        "sql::sink::stream_model::a_full_stream_takes_nothing_more",
    ),
    mutant(
        "relay_fence",
        "A relay that slept through its claim says that a work is done which another one holds.",
        "sql::relay::sqlite::trouble::a_relay_that_was_overtaken_changes_nothing",
    ),
    mutant(
        "relay_ordered_fence",
        "A relay that slept sets a key back, and its messages are sent again.",
        "sql::relay::sqlite::trouble::a_key_is_never_set_back",
    ),
    mutant(
        "relay_contiguous",
        "A message is sent although the one before it is missing.",
        "sql::relay::ordered::tests::what_follows_a_hole_waits",
    ),
    mutant(
        "relay_stops_at_a_failure",
        "A message that failed is stepped over and never comes.",
        "sql::relay::sqlite::order::nothing_of_a_key_passes_a_failure",
    ),
    mutant(
        "relay_parks",
        "What can never be sent is tried for ever.",
        "sql::relay::sqlite::trouble::what_fails_too_often_is_parked",
    ),
    mutant(
        "relay_away_is_no_attempt",
        "An hour without the broker parks everything that waited for it.",
        "sql::relay::sqlite::trouble::a_sink_that_is_away_burns_no_attempts",
    ),
    mutant(
        "relay_gate",
        "A relay claims and gives back the whole backlog again and again while the broker is away.",
        "sql::relay::sqlite::trouble::a_sink_that_is_away_burns_no_attempts",
    ),
    mutant(
        "claim_locks_no_gaps",
        "On MySQL and MariaDB a relay's claim keeps producers from inserting beside what it claims.",
        "sql::relay::mariadb::gaps::a_claim_keeps_no_producer_waiting",
    ),
    mutant(
        "commit_notifies",
        "A message waits for the next look of a relay in another process.",
        "sql::relay::postgres::wake::a_commit_wakes_a_relay_of_another_process",
    ),
    mutant(
        "commit_carries_notification",
        "A process that dies right after its commit has told nobody, although the program wanted it told.",
        "sql::relay::postgres::wake::a_commit_can_carry_its_notification",
    ),
    mutant(
        "reconnect_is_a_wake_up",
        "What was committed while the relay's listening connection was away waits for the next commit.",
        "sql::relay::postgres::wake::what_was_committed_while_nobody_listened_is_found_on_return",
    ),
    mutant(
        "relay_settles_again",
        "What was sent is not written down if the database was away for a moment: its key waits for the end of the claim.",
        "sql::relay::sqlite::again::what_was_sent_is_written_down_when_the_database_is_back",
    ),
    mutant(
        "relay_settles_again",
        "What was carried out is carried out again, when the claim has ended, if the database was away for a moment.",
        "sql::relay::sqlite::again::what_was_carried_out_is_written_down_when_the_database_is_back",
    ),
    mutant(
        "relay_gives_back_claims",
        "What was claimed by a look that failed waits for the end of the claim.",
        "sql::relay::sqlite::again::what_a_look_that_failed_had_claimed_is_sent_by_the_next",
    ),
    mutant(
        "relay_retention",
        "Rows go that nobody has carried out, or that still decide about a commit.",
        "sql::relay::sqlite::lanes::rows_that_are_done_are_deleted_in_time",
    ),
    mutant(
        "relay_gates_are_separate",
        "A sink that is away closes the gate for every other destination, too.",
        "sql::relay::sqlite::attacked::an_absent_sink_holds_up_no_other_work",
    ),
    mutant(
        "relay_parks_unrouted",
        "What no program takes waits for ever, and nobody is called.",
        "sql::relay::sqlite::attacked::what_no_program_takes_is_parked_after_its_time",
    ),
    mutant(
        "relay_counts_hangs",
        "A message at which its sink hangs is tried for ever.",
        "sql::relay::sqlite::attacked::a_hostile_sink_parks_its_message_and_nothing_else",
    ),
    mutant(
        "sink_panics_are_caught",
        "A panic in a sink ends the lane, and everything claimed with the message waits for the end of the claim.",
        "sql::relay::sqlite::attacked::a_hostile_sink_parks_its_message_and_nothing_else",
    ),
    mutant(
        "relay_claims_are_bounded",
        "A relay reads two hundred works at once, however large they are.",
        "sql::relay::sqlite::attacked::a_claim_is_bounded_by_its_bytes",
    ),
    mutant(
        "relay_spans_shortened",
        "A span without end overflows where the database adds it to a time.",
        "sql::relay::mariadb::attacked::extreme_settings_neither_wedge_nor_overflow",
    ),
    mutant(
        "stream_sink_remember_bounded",
        "Redis refuses every message of a sink that remembers sequences for ever.",
        "sql::extremes::stream_on_redis_takes_messages_at_its_extremes",
    ),
];
