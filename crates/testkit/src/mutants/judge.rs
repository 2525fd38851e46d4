//! The guards of the inbox, and of the rows that judge jobs.

use super::{Mutant, mutant};

/// In the order of the sources.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "inbox_once",
        "A message that comes twice has its effect twice.",
        "sql::inbox::sqlite::a_message_is_fresh_once_for_each_group",
    ),
    mutant(
        "inbox_parks_old",
        "A message that comes back after the retention is run again.",
        "sql::inbox::sqlite::a_message_older_than_the_retention_is_parked_until_a_person_decides",
    ),
    mutant(
        "inbox_keeps_for_skew",
        "A message whose sender's clock is ahead is forgotten before it would be parked.",
        "sql::inbox::sqlite::old_messages_are_forgotten_and_parked_ones_are_not",
    ),
    mutant(
        "inbox_group_without_zero",
        "A zero byte in the name of a group takes the transaction of its caller back.",
        "sql::inbox::postgres::every_extreme_is_taken_or_refused",
    ),
    mutant(
        "sql_start",
        "A job that was revoked, or moved, runs from a store that has not heard of it.",
        "sql::judged::sqlite::a_revoked_job_never_runs_whatever_the_store_says",
    ),
    mutant(
        "sql_sweep_puts_back",
        "What the store loses is lost.",
        "sql::judged::sqlite::a_restart_of_the_embedded_store_loses_nothing",
    ),
    mutant(
        "sql_lists_rows",
        "Operators do not see jobs that only their rows know.",
        "sql::agree::sqlite::operators_and_programs_agree_about_jobs_beyond_the_horizon",
    ),
    mutant(
        "sql_operator_horizon",
        "What an operator moves beyond the horizon takes memory in Redis.",
        "sql::agree::sqlite::a_page_of_rows_and_store_is_complete_and_in_order",
    ),
    mutant(
        "sql_find_asks_row",
        "A program is told what the store says of a job, and an operator what its row says.",
        "sql::agree::sqlite::operators_and_programs_agree_about_jobs_with_rows",
    ),
    mutant(
        "sql_sweep_ended",
        "A job that was not worth keeping comes back.",
        "sql::judged::sqlite::what_has_ended_does_not_come_back",
    ),
    mutant(
        "sql_sweep_row_decides",
        "A job that only the store says is done is lost.",
        "sql::sweeps::sqlite::done_in_store_alone_does_not_end_live_row",
    ),
    mutant(
        "sql_sweep_row_decides",
        "A withdrawal that only the store knows ends a live job.",
        "sql::sweeps::sqlite::withdrawal_in_store_alone_does_not_end_live_row",
    ),
    mutant(
        "sql_sweep_halves",
        "One job that cannot be put back keeps all others of its page from coming back.",
        "sql::sweeps::sqlite::page_that_fails_is_halved_down_to_one_job",
    ),
    mutant(
        "queue_rescue_judged",
        "A job that was done in SQL when its worker died becomes a dead letter.",
        "sql::sweeps::sqlite::rescue_does_not_bury_a_job_whose_row_ended",
    ),
    mutant(
        "sql_operator_row",
        "A job that an operator revoked runs after a flush.",
        "sql::operators::sqlite::revoked_job_never_runs_after_flush",
    ),
    mutant(
        "sql_needs_database",
        "An operator without the database changes what SQL does not hear of.",
        "sql::operators::sqlite::topic_without_its_database_refuses_every_change",
    ),
    mutant(
        "sql_register_judged",
        "A program that does not know of the rows hides them from operators.",
        "sql::operators::sqlite::rows_are_for_every_process_of_the_queue",
    ),
    mutant(
        "sql_attempt_in_row",
        "A job that failed comes back without its last error after a flush.",
        "sql::attempts::sqlite::failed_attempts_survive_flush",
    ),
    mutant(
        "sql_past_restored",
        "A job comes back with all its attempts, however often it failed.",
        "sql::attempts::sqlite::failed_attempts_survive_flush",
    ),
    mutant(
        "sql_death_restored",
        "A dead letter that the store lost runs again.",
        "sql::attempts::sqlite::dead_letter_survives_flush",
    ),
    mutant(
        "sql_death_in_row",
        "The store is told of a death first, and loses it.",
        "sql::attempts::sqlite::dead_letter_is_known_before_the_sweep",
    ),
    mutant(
        "sql_death_decides",
        "A job that is dead in its row runs from a store that has not heard of it.",
        "sql::attempts::sqlite::job_that_its_row_calls_dead_does_not_run",
    ),
    mutant(
        "sql_sweep_buries",
        "A dead letter from before rows knew of deaths runs again after a flush.",
        "sql::attempts::sqlite::death_that_only_the_store_knows_survives_flush",
    ),
    mutant(
        "sql_redrive_in_row",
        "A dead letter that was sent back is dead in its row, and does not run.",
        "sql::attempts::sqlite::dead_letter_survives_flush",
    ),
    mutant(
        "sql_refuses_limits",
        "An operator sets limits that count nothing.",
        "sql::agree::sqlite::operators_and_programs_agree_about_limits",
    ),
    mutant("sql_pause", "A flush ends an operator's pause.", "sql::operators::sqlite::pause_survives_flush"),
    mutant(
        "sql_redrive_asks_row",
        "An operator is told that a job was sent back which never runs.",
        "sql::operators::sqlite::redriven_dead_letter_runs_after_flush",
    ),
    mutant(
        "sql_horizon",
        "Every job takes room in the store, however far away it is.",
        "sql::judged::sqlite::far_jobs_need_not_be_in_the_store",
    ),
    mutant(
        "sql_fence_given_back",
        "A job whose store lost its fences becomes a dead letter.",
        "sql::judged::sqlite::a_fence_that_the_row_has_seen_is_passed",
    ),
    mutant(
        "sql_row_in_the_work",
        "A job that a unit of work sends is not begun, because it has no row.",
        "sql::judged::sqlite::a_unit_of_work_sends_a_judged_job",
    ),
];
