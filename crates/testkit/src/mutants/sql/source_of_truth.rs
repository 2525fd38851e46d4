//! The guards of the inbox, and of the rows of `Durability::Sql`.

use crate::mutants::{Mutant, mutant};

/// In the order of the sources.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "inbox_once",
        "A message delivered twice has its effect twice.",
        "sql::inbox::sqlite::message_is_new_once_for_each_group",
    ),
    mutant(
        "inbox_parks_old",
        "A message redelivered after the retention is run again.",
        "sql::inbox::sqlite::message_older_than_the_retention_is_parked",
    ),
    mutant(
        "inbox_keeps_for_skew",
        "A message whose sender's clock is ahead is forgotten before it is old enough to be parked.",
        "sql::inbox::sqlite::retention_removes_old_but_not_parked_messages",
    ),
    mutant(
        "inbox_group_without_zero",
        "A zero byte in the name of a group rolls the caller's transaction back.",
        "sql::inbox::postgres::extreme_inbox_calls_are_accepted_or_rejected",
    ),
    mutant(
        "sql_start",
        "A job that was revoked, or rescheduled, runs from a store that does not have the change.",
        "row_decides::sqlite::revoked_job_never_runs_though_the_store_has_the_job",
    ),
    mutant(
        "sql_sweep_puts_back",
        "A job that the store loses is lost.",
        "row_decides::sqlite::restart_of_the_embedded_store_loses_no_job",
    ),
    mutant(
        "sql_lists_rows",
        "Operators do not see jobs that only their rows know.",
        "agree::sqlite::operators_and_programs_agree_on_jobs_beyond_the_horizon",
    ),
    mutant(
        "sql_operator_horizon",
        "A job that an operator moves beyond the horizon takes memory in Redis.",
        "agree::sqlite::page_of_rows_and_store_is_complete_and_ordered",
    ),
    mutant(
        "sql_find_asks_row",
        "For one job a program sees the store's state, and an operator the row's.",
        "agree::sqlite::operators_and_programs_agree_on_jobs_with_rows",
    ),
    mutant(
        "sql_sweep_ended",
        "A job that was not worth keeping is restored.",
        "row_decides::sqlite::finished_job_is_not_restored",
    ),
    mutant(
        "sql_sweep_row_decides",
        "A job that is done only in the store is lost.",
        "sweeps::sqlite::completion_in_store_alone_keeps_the_live_row",
    ),
    mutant(
        "sql_sweep_row_decides",
        "A withdrawal known only to the store ends a live job.",
        "sweeps::sqlite::withdrawal_in_store_alone_keeps_the_live_row",
    ),
    mutant(
        "sql_sweep_halves",
        "One job that cannot be restored keeps all others of its page from being restored.",
        "sweeps::sqlite::failing_page_is_halved_down_to_one_job",
    ),
    mutant(
        "sql_sweep_leased",
        "Every process of a fleet compares all rows with the store.",
        "sweeps::sqlite::only_one_process_sweeps_at_a_time",
    ),
    mutant(
        "sql_sweep_heads_only",
        "The sweep reads the bodies of all jobs to compare their versions.",
        "sweeps::sqlite::large_bodies_are_restored_and_sent_only_when_needed",
    ),
    mutant(
        "sql_sweep_paced",
        "The sweep reads rows without a pause, as fast as the database answers.",
        "queue::sql::sweeper::tests::sweep_pauses_after_each_page_and_round",
    ),
    mutant(
        "queue_rescue_row_decides",
        "A job that was done in SQL when its worker died becomes a dead letter.",
        "sweeps::sqlite::rescue_makes_no_dead_letter_of_a_finished_job",
    ),
    mutant(
        "sql_operator_row",
        "A job that an operator revoked runs after a flush.",
        "operators::sqlite::revoked_job_never_runs_after_flush",
    ),
    mutant(
        "sql_needs_database",
        "An operator without the database makes a change that SQL does not have.",
        "operators::sqlite::topic_without_its_database_rejects_every_change",
    ),
    mutant(
        "sql_register_row_decides",
        "A program that does not know of the rows hides them from operators.",
        "operators::sqlite::queue_with_rows_is_rejected_without_its_database",
    ),
    mutant(
        "sql_attempt_in_row",
        "A failed job is restored without its last error after a flush.",
        "attempts::sqlite::failed_attempts_survive_flush",
    ),
    mutant(
        "sql_past_restored",
        "A job is restored with all its attempts, however often it failed.",
        "attempts::sqlite::failed_attempts_survive_flush",
    ),
    mutant(
        "sql_death_restored",
        "A dead letter that the store lost runs again.",
        "attempts::sqlite::dead_letter_survives_flush",
    ),
    mutant(
        "sql_death_in_row",
        "A death is recorded in the store first, which loses it.",
        "attempts::sqlite::dead_letter_is_listed_before_the_sweep",
    ),
    mutant(
        "sql_death_decides",
        "A job that is dead in its row runs from a store that does not have its death.",
        "attempts::sqlite::job_with_a_dead_row_does_not_run",
    ),
    mutant(
        "sql_sweep_marks_dead",
        "A dead letter from before rows recorded deaths runs again after a flush.",
        "attempts::sqlite::death_known_only_to_the_store_survives_flush",
    ),
    mutant(
        "sql_redrive_in_row",
        "A dead letter that was sent back is dead in its row, and does not run.",
        "attempts::sqlite::dead_letter_survives_flush",
    ),
    mutant(
        "sql_refuses_limits",
        "An operator sets limits that count nothing.",
        "agree::sqlite::operators_and_programs_agree_on_limits",
    ),
    mutant("sql_pause", "A flush ends an operator's pause.", "operators::sqlite::pause_survives_flush"),
    mutant(
        "sql_redrive_asks_row",
        "A redrive reports a job as sent back that never runs.",
        "operators::sqlite::redriven_dead_letter_runs_after_flush",
    ),
    mutant(
        "sql_horizon",
        "Every job takes space in the store, however far ahead its due time is.",
        "row_decides::sqlite::jobs_beyond_the_horizon_stay_out_of_the_store",
    ),
    mutant(
        "sql_fence_given_back",
        "A job whose store lost its fences becomes a dead letter.",
        "row_decides::sqlite::next_fence_exceeds_the_fence_in_the_row",
    ),
    mutant(
        "sql_row_in_the_work",
        "A job that a unit of work sends is not begun, because it has no row.",
        "row_decides::sqlite::unit_of_work_enqueues_a_job_with_a_row",
    ),
    mutant(
        "sql_page_reads_index",
        "A page of waiting jobs reads all rows before it on MySQL and MariaDB.",
        "sql::pages::page_by_due_time_reads_its_index_mariadb",
    ),
    mutant(
        "sql_amend_row",
        "After a flush a dead letter has the body that an operator replaced.",
        "agree::sqlite::operators_and_programs_agree_on_jobs_with_rows",
    ),
    mutant(
        "sql_amend_seen",
        "Of two operators that edit a dead letter with a row the later one undoes the earlier one's change.",
        "agree::sqlite::operators_and_programs_agree_on_jobs_with_rows",
    ),
    mutant(
        "sql_sweep_passes_slow_pages",
        "A page of the sweep that takes longer than its lease is tried again forever, and no row behind it is compared.",
        "queue::sql::sweeper::tests::sweep_goes_on_after_a_page_that_outlasted_its_lease",
    ),
];
