//! Guards of the unit of work: its migrations, its commit and what follows it.

use super::{Mutant, mutant};

/// In the order of the sources.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "migrations_take_turns",
        "Two programs that start at once make the same tables at once, and one of them does not start.",
        "sql::work::migrations::postgres::programs_that_start_at_once_make_the_tables_once",
    ),
    mutant(
        "migrations_take_turns",
        "The same on MariaDB and MySQL, where the lock is by name.",
        "sql::work::migrations::mariadb::programs_that_start_at_once_make_the_tables_once",
    ),
    mutant(
        "own_migration_repeats",
        "On MySQL and MariaDB a program is killed after a statement of the library's migrations, and never starts again.",
        "sql::work::own_migrations::mariadb_program_killed_at_any_step_starts_again",
    ),
    mutant(
        "migration_step_noted",
        "On MySQL and MariaDB a program is killed after a statement of its migration, and never starts again.",
        "sql::work::own_migrations::mariadb_program_killed_at_any_step_starts_again",
    ),
    mutant(
        "invalidations_before_jobs",
        "A job that runs at once finds the value from before the commit.",
        "sql::work::windows::sqlite::a_job_that_runs_at_once_finds_no_older_value",
    ),
    mutant(
        "commit_survives_its_caller",
        "A caller that goes away takes half a commit along.",
        "sql::work::commits::sqlite::a_commit_survives_its_caller",
    ),
    mutant(
        "unknown_outcome_is_decided",
        "A commit whose answer was lost is taken for a rollback, and the caller does it again.",
        "sql::work::unknown::mariadb::a_commit_whose_answer_was_lost_is_a_commit",
    ),
    mutant(
        "window_before_commit",
        "A strong cache is written although nobody knows of the window, and a fresh read is given the older value.",
        "sql::work::windows::sqlite::a_work_is_refused_if_its_window_is_not_confirmed",
    ),
    mutant(
        "work_row_is_there",
        "A work whose transaction a deadlock has taken back tells Redis what never happened.",
        "sql::work::lost::a_swallowed_deadlock_is_not_committed",
    ),
    mutant(
        "work_row_is_there",
        "The same on MariaDB and MySQL with effects too long for the message that looks.",
        "sql::work::lost::mariadb::effects_of_any_length_are_noted_with_their_transaction_only",
    ),
    mutant(
        "work_row_is_there",
        "A work whose transaction was ended behind its back tells Redis what never happened, on PostgreSQL.",
        "sql::work::lost::postgres::a_transaction_ended_behind_the_works_back_is_noticed",
    ),
    mutant(
        "work_row_is_there",
        "The effects of a savepoint that was rolled back are sealed into nothing, and nobody is told.",
        "sql::work::lost::postgres::a_savepoint_that_was_rolled_back_takes_its_effects_along",
    ),
    mutant(
        "lost_connection_is_mended",
        "A work whose transaction was ended behind its back leaves SQLite's pool a connection that begins no more transactions.",
        "sql::work::lost::a_connection_whose_transaction_was_lost_serves_the_next_work",
    ),
    mutant(
        "row_before_sequences",
        "After a swallowed deadlock a message of a work that never happened is sent, or its key has a hole for ever.",
        "sql::work::lost::mariadb::nothing_is_written_outside_of_the_transaction",
    ),
    mutant(
        "effects_of_one_keel",
        "An invalidation of another keel's cache goes to the wrong Redis, and the commit says that it was carried out.",
        "sql::work::attacked::sqlite::effects_of_another_keel_are_refused_where_they_are_named",
    ),
    mutant(
        "question_mark_classifies",
        "A deadlock that was handed on with `?` is told as something that trying again cannot help.",
        "sql::work::attacked::postgres::question_mark_keeps_what_the_database_said",
    ),
    mutant(
        "large_effects_are_refused",
        "MariaDB cuts the connection of a work that is too large, and the work is told to try again.",
        "sql::work::attacked::mariadb::large_and_small_effects_go_side_by_side",
    ),
    mutant(
        "mysql_prepares_nothing_it_may_drop",
        "A handler that is dropped in the middle of a call costs the pool a connection for ever.",
        "sql::work::attacked::mariadb::a_call_dropped_at_any_await_leaves_the_pool_its_connection",
    ),
];
