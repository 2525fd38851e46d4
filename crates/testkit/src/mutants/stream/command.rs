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
        "stream_command_trim_confirmed",
        "Entries are removed without a confirmation.",
        "stream::group_is_paused_moved_and_trimmed",
    ),
    mutant(
        "stream_command_replay_dry_run",
        "A preview of a replay replays.",
        "stream::dead_letters_of_a_group_are_listed_replayed_and_deleted",
    ),
    mutant(
        "operation_confirmed",
        "What needs a typed name is done without it: all dead letters are deleted.",
        "stream::dead_letters_of_a_group_are_listed_replayed_and_deleted",
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
