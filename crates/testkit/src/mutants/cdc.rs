//! The guards of change capture.

use super::{Mutant, mutant};

/// In the order in which a change passes them.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "cdc_identity",
        "The log of another server is read from the position of the first one, and its changes before it are skipped.",
        "gaps::another_source_under_the_name_is_a_gap",
    ),
    mutant(
        "cdc_image_before",
        "The entry under the old key of a row is served on.",
        "effects::changed_key_invalidates_both_entries",
    ),
    mutant(
        "cdc_absent_is_not_null",
        "A change whose key the log left out is skipped as one without a key.",
        "cdc::rules::key::tests::absent_column_is_not_null",
    ),
    mutant(
        "cdc_barrier",
        "An absent entry is invalidated before the row is visible, and the next reader stores the old row for good.",
        "effects::change_is_applied_when_it_is_visible",
    ),
    mutant(
        "cdc_parked_waits",
        "A later change of a key overtakes the one whose function failed.",
        "effects::failing_function_parks_its_key_alone",
    ),
    mutant(
        "binlog_born",
        "After `RESET MASTER` the new log is read from a position of the old one, and what it has before that is skipped.",
        "binlog::resume::reset_log_is_a_gap",
    ),
    mutant(
        "binlog_anchor",
        "A log with another group at the checkpoint's place is taken for the same log.",
        "binlog::resume::another_group_at_the_place_of_the_last_one_is_a_gap",
    ),
    mutant(
        "binlog_snapshot",
        "A commit that waits for a replica is called visible.",
        "binlog::barrier::held_commit_is_not_visible_until_it_is_released",
    ),
    mutant(
        "binlog_unknown",
        "An event that the reader does not know is passed over, and with it the changes in it.",
        "binlog::damage::unknown_event_stops_unless_it_may_be_ignored",
    ),
    mutant(
        "binlog_xa",
        "Rows of a prepared transaction are returned before it is committed, or although it is rolled back.",
        "binlog::changes::xa_rows_wait_for_the_commit",
    ),
    mutant(
        "binlog_statement",
        "Rows that a session with `binlog_format=STATEMENT` changed are missed.",
        "binlog::changes::statement_of_a_client_is_a_change_of_unknown_rows",
    ),
];
