//! The guards of the locks that databases keep, and of work that is done again after a conflict.

use super::{Mutant, mutant};

/// Rows, advisory locks, conflicts.
pub(super) const ROWS: &[Mutant] = &[
    mutant("row_lock_only_free", "A row that somebody holds is taken from him.", "lock::rows::steps_on_mariadb"),
    mutant(
        "row_lock_fence_previous",
        "Two holders within a millisecond have the same fence.",
        "lock::rows::steps_on_postgres",
    ),
    mutant(
        "row_lock_renew_owner",
        "A holder that woke up late renews the row of the next one.",
        "lock::rows::steps_on_mariadb",
    ),
    mutant(
        "row_lock_renew_ended",
        "A lease in a row comes back to life after its end.",
        "lock::rows::steps_on_postgres",
    ),
    mutant(
        "row_lock_release_owner",
        "A holder that woke up late frees the row of the next one.",
        "lock::rows::steps_on_postgres",
    ),
    mutant(
        "row_lock_release_ended",
        "A holder that woke up late ends the time in which it is waited for.",
        "lock::rows::steps_on_mariadb",
    ),
    mutant(
        "row_lock_raise_owner",
        "A zombie lifts the fence of whoever has the row now.",
        "lock::rows::steps_on_mariadb",
    ),
    mutant(
        "row_lock_break_fence",
        "An operator breaks the lock of a holder that nobody has seen.",
        "lock::rows::steps_on_postgres",
    ),
    mutant(
        "row_lock_lease_from_future",
        "A clock that is set back keeps a dead holder's row from everybody for as long.",
        "lock::rows::steps_on_mariadb",
    ),
    mutant(
        "advisory_lock_quiet_ends",
        "The connection of a process that stands still keeps its lock for as long as it likes.",
        "lock::exclusive::of_postgres_itself",
    ),
    mutant(
        "advisory_lock_asks",
        "A holder whose connection has ended believes in its lock for ever.",
        "lock::exclusive::of_mariadb_itself",
    ),
    mutant(
        "conflicts_are_bounded",
        "Work that always meets a conflict is done again for ever.",
        "sql::contention::retry::retries_are_bounded_and_the_error_says_so",
    ),
    mutant(
        "locking_commit_may_have_happened",
        "A locking transaction whose commit was not answered is said to be retryable, and is done twice.",
        "sql::contention::sentences::a_locking_commit_without_an_answer_is_not_retryable_on_mariadb",
    ),
    mutant(
        "conflicts_then_lock",
        "Work that meets one conflict after the other never locks its rows.",
        "sql::contention::retry::sqlite::who_met_too_many_conflicts_locks",
    ),
    mutant(
        "advisory_lock_lease_bounded",
        "The server ends the connection of a lock with a ttl of weeks before its first renewal, or refuses the time-out.",
        "lock::sql_extremes::advisory_locks_at_their_extremes_are_taken_or_refused_on_postgres",
    ),
];
