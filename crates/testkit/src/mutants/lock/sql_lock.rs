//! The guards of the locks that databases keep, and of work that is done again after a conflict.

use crate::mutants::{Mutant, mutant};

/// Rows, advisory locks, conflicts.
pub(super) const ROWS: &[Mutant] = &[
    mutant("row_lock_only_free", "A held row is taken from its holder.", "lock::rows::lock_suite_on_mariadb"),
    mutant(
        "row_lock_fence_previous",
        "Two holders within a millisecond have the same fence.",
        "lock::rows::lock_suite_on_postgres",
    ),
    mutant(
        "row_lock_renew_owner",
        "A late holder renews the row of the next one.",
        "lock::rows::lock_suite_on_mariadb",
    ),
    mutant(
        "row_lock_renew_ended",
        "A renewal revives an expired lease in a row.",
        "lock::rows::lock_suite_on_postgres",
    ),
    mutant(
        "row_lock_release_owner",
        "A late holder frees the row of the next one.",
        "lock::rows::lock_suite_on_postgres",
    ),
    mutant("row_lock_release_ended", "A late holder ends its own lock delay.", "lock::rows::lock_suite_on_mariadb"),
    mutant(
        "row_lock_raise_owner",
        "A zombie raises the fence of the current holder of the row.",
        "lock::rows::lock_suite_on_mariadb",
    ),
    mutant(
        "row_lock_break_fence",
        "An operator breaks the lock of a holder other than the inspected one.",
        "lock::rows::lock_suite_on_postgres",
    ),
    mutant(
        "row_lock_lease_from_future",
        "A clock that is set back extends a dead holder's row lock by as much.",
        "lock::rows::lock_suite_on_mariadb",
    ),
    mutant(
        "advisory_lock_quiet_ends",
        "The connection of a stopped process keeps its lock without a limit.",
        "lock::exclusive::exclusive_suite_on_advisory_locks_of_postgres",
    ),
    mutant(
        "advisory_lock_asks",
        "A holder whose connection has ended believes in its lock forever.",
        "lock::exclusive::exclusive_suite_on_advisory_locks_of_mariadb",
    ),
    mutant(
        "conflicts_are_bounded",
        "Work that always meets a conflict is retried forever.",
        "sql::contention::retry::retries_are_bounded_and_reported",
    ),
    mutant(
        "locking_commit_may_have_happened",
        "A locking commit without a reply is retryable, and the work is done twice.",
        "sql::contention::sentences::unanswered_locking_commit_is_not_retryable_on_mariadb",
    ),
    mutant(
        "conflicts_then_lock",
        "Work that meets one conflict after the other never locks its rows.",
        "sql::contention::retry::sqlite::repeated_conflicts_switch_to_pessimistic_locking",
    ),
    mutant(
        "advisory_lock_lease_bounded",
        "The server ends the connection of a lock with a ttl of weeks before its first renewal, or rejects \
         the timeout.",
        "lock::sql_extremes::extreme_advisory_locks_work_or_are_rejected_on_postgres",
    ),
];
