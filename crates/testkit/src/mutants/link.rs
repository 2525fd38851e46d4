//! The guards of the link to Redis.

use super::{Mutant, mutant};

/// In the order of the sources.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "link_noscript",
        "After a SCRIPT FLUSH every script fails until the next reconnect.",
        "link::commands::a_script_survives_a_script_flush",
    ),
    mutant("link_role", "A replica is taken for the primary.", "link::roles::a_replica_is_no_primary_to_begin_with"),
    mutant(
        "link_other_server",
        "Demoted and promoted again between two beats, a server with other data passes for the one that was written to.",
        "link::roles::another_history_of_the_data_is_another_epoch",
    ),
    mutant(
        "link_over",
        "A command is handed to an epoch that is over, and its outcome is in doubt for nothing.",
        "link::recovery::an_epoch_that_is_over_sends_nothing",
    ),
    mutant(
        "link_probe",
        "One slow command costs everybody their connection.",
        "link::silence::a_slow_server_keeps_its_epoch",
    ),
    mutant(
        "link_readonly",
        "A demoted primary refuses every write for ever.",
        "link::roles::a_demoted_primary_is_left_at_the_first_refused_write",
    ),
    mutant(
        "link_hooks_first",
        "The epoch is open before the recent invalidations were driven again.",
        "link::hooks::a_hook_is_done_before_anybody_is_let_in",
    ),
    mutant(
        "link_runtime_ended",
        "A keel whose runtime has ended answers for ever that its connection was replaced meanwhile.",
        "link::outlived::keel_whose_runtime_has_ended_says_so_to_every_call",
    ),
    mutant(
        "link_first_words",
        "What is no Redis is told as a value that could not be parsed.",
        "link::refusals::http_server_is_named_as_one",
    ),
    mutant(
        "link_old_version",
        "A Redis 6 is told that its syntax is wrong, and not which version is needed.",
        "link::refusals::redis_six_is_told_its_version_and_the_one_needed",
    ),
    mutant(
        "link_listener_caught",
        "A listener that panics ends the connection at every push.",
        "link::hostile::listener_that_panics_ends_no_connection",
    ),
    mutant(
        "link_user_alone",
        "A user without a password is ignored, and the default user logs in.",
        "link::refusals::user_that_needs_no_password_is_logged_in",
    ),
];
