//! Guards of the unit of work: its migrations, its commit and what follows it.

use crate::mutants::{Mutant, mutant};

/// In the order of the sources.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "migrations_take_turns",
        "Two programs that start at once create the same tables, and one of them does not start.",
        "migrations::postgres::programs_started_at_once_create_the_tables_once",
    ),
    mutant(
        "migrations_take_turns",
        "The same on MariaDB and MySQL, where the lock is by name.",
        "migrations::mariadb::programs_started_at_once_create_the_tables_once",
    ),
    mutant(
        "own_migration_repeats",
        "On MySQL and MariaDB a program is killed after a statement of the library's migrations, and never starts again.",
        "own_migrations::mariadb_migration_resumes_after_a_kill_at_any_step",
    ),
    mutant(
        "migration_step_noted",
        "On MySQL and MariaDB a program is killed after a statement of its migration, and never starts again.",
        "own_migrations::mariadb_migration_resumes_after_a_kill_at_any_step",
    ),
    mutant(
        "invalidations_before_jobs",
        "A job that runs at once finds the value from before the commit.",
        "sql::work::windows::sqlite::job_that_runs_at_once_reads_no_older_value",
    ),
    mutant(
        "commit_survives_its_caller",
        "A dropped caller leaves half a commit.",
        "sql::work::commits::sqlite::commit_survives_a_dropped_caller",
    ),
    mutant(
        "unknown_outcome_is_decided",
        "A commit without a reply is taken for a rollback, and the caller repeats it.",
        "sql::work::unknown::mariadb::commit_without_a_reply_is_found_committed",
    ),
    mutant(
        "window_before_commit",
        "A strong cache's row is written without a confirmed window, and a fresh read returns the older value.",
        "sql::work::windows::sqlite::unconfirmed_window_rejects_the_commit",
    ),
    mutant(
        "rolled_back_seal_is_decided",
        "The outcome of a unit of work whose seal was rolled back is unknown, because of a duplicate key.",
        "sql::work::lost::sqlite::rolled_back_seal_has_no_effects",
    ),
    mutant(
        "sqlite_begin_checked",
        "On SQLite a unit of work begins without a transaction, and its first savepoint commits it.",
        "sql::work::lost::sqlite::statement_that_begins_no_transaction_is_refused",
    ),
    mutant(
        "mysql_commit_ends",
        "With `completion_type = CHAIN` a connection returns to the pool inside another transaction.",
        "sql::work::session::end_of_a_transaction_is_only_that_whatever_the_completion_type",
    ),
    mutant(
        "work_row_is_there",
        "A unit of work that a deadlock rolled back has effects in Redis.",
        "sql::work::lost::ignored_deadlock_is_not_committed",
    ),
    mutant(
        "work_row_is_there",
        "The same on MariaDB and MySQL with effects too long for the checking statement.",
        "sql::work::lost::mariadb::effects_of_any_length_are_stored_only_on_commit",
    ),
    mutant(
        "work_row_is_there",
        "A unit of work whose transaction the program ended has effects in Redis, on PostgreSQL.",
        "sql::work::lost::postgres::transaction_ended_by_the_program_returns_lost",
    ),
    mutant(
        "work_row_is_there",
        "The effects of a rolled-back savepoint are lost without an error.",
        "sql::work::lost::postgres::rolled_back_savepoint_discards_its_effects",
    ),
    mutant(
        "row_before_sequences",
        "After an ignored deadlock a message of a rolled-back unit is sent, or its key has a gap forever.",
        "sql::work::lost::mariadb::lost_transaction_writes_nothing",
    ),
    mutant(
        "effects_of_one_keel",
        "An invalidation of another keel's cache goes to the wrong Redis, and the commit reports success.",
        "sql::work::attacked::sqlite::effects_of_another_keel_are_rejected",
    ),
    mutant(
        "question_mark_classifies",
        "A deadlock handed on with `?` is reported as not retryable.",
        "sql::work::attacked::postgres::question_mark_keeps_the_database_error",
    ),
    mutant(
        "large_effects_are_refused",
        "MariaDB closes the connection of an oversized unit of work, and its error is retryable.",
        "sql::work::attacked::mariadb::large_effects_do_not_block_small_ones",
    ),
    mutant(
        "mysql_prepares_nothing_it_may_drop",
        "A handler dropped in the middle of a call costs the pool a connection forever.",
        "sql::work::attacked::mariadb::call_dropped_at_any_await_returns_its_connection",
    ),
    mutant(
        "left_names_keyed_messages",
        "A commit after which only ordered messages wait looks like a failure.",
        "sql::work::commits::sqlite::keyed_message_is_left_to_the_relay_without_a_warning",
    ),
];
