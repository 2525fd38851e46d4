//! The guards of the command `evenkeel stream`.

use crate::mutants::{Mutant, mutant};

/// By command.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "stream_command_seek_dry_run",
        "A preview of a seek moves the group.",
        "stream::group_is_paused_moved_and_trimmed",
    ),
    mutant(
        "stream_command_seek_confirmed",
        "A seek skips or repeats entries without a confirmation.",
        "stream::group_is_paused_moved_and_trimmed",
    ),
    mutant(
        "stream_command_trim_confirmed",
        "Entries are removed without a confirmation.",
        "stream::group_is_paused_moved_and_trimmed",
    ),
    mutant(
        "stream_command_group_known",
        "A misspelled group looks like one without dead letters.",
        "stream::stream_errors_are_one_line_and_exit_code_2",
    ),
    mutant(
        "stream_command_replay_dry_run",
        "A preview of a replay replays.",
        "stream::dead_letters_of_a_group_are_listed_replayed_and_deleted",
    ),
    mutant(
        "stream_command_replay_confirmed",
        "All dead letters are replayed without a confirmation.",
        "stream::dead_letters_of_a_group_are_listed_replayed_and_deleted",
    ),
    mutant(
        "stream_command_remove_confirmed",
        "All dead letters are deleted without a confirmation.",
        "stream::dead_letters_of_a_group_are_listed_replayed_and_deleted",
    ),
    mutant(
        "stream_command_unregister_confirmed",
        "A group is unregistered without a confirmation.",
        "stream::group_without_consumers_is_unregistered",
    ),
    mutant(
        "stream_unregister_unused",
        "A group is unregistered while its consumers run, and is back when one of them starts.",
        "stream::group_whose_consumer_runs_is_not_unregistered",
    ),
    mutant(
        "stream_command_missing_is_behind",
        "A group that Redis has lost, which reads nothing, is not behind.",
        "stream::lost_group_is_behind",
    ),
];
