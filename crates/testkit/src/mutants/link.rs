//! The guards of the link to Redis.

use super::{Mutant, mutant};

/// In the order of the sources.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "link_noscript",
        "After a SCRIPT FLUSH every script fails until the next reconnect.",
        "link::commands::script_survives_a_script_flush",
    ),
    mutant(
        "link_functions_refused",
        "A server that refuses functions, by its rights or its configuration, is not usable.",
        "link::functions::server_that_refuses_functions_runs_scripts",
    ),
    mutant(
        "link_bulk_limit",
        "A value above the server's limit is sent: the server closes the connection, on which other calls wait, at each repetition.",
        "link::refusals::value_above_the_limit_of_the_server_is_not_sent",
    ),
    mutant(
        "link_fcall_probed",
        "Where FCALL has another name, the first call of each process breaks its connection.",
        "link::functions::server_that_refuses_functions_runs_scripts",
    ),
    mutant("link_role", "A replica is taken for the primary.", "roles::replica_is_rejected_at_connect"),
    mutant(
        "link_other_server",
        "A server demoted and promoted between two heartbeats, with other data, passes for the old one.",
        "roles::changed_replication_id_starts_a_new_epoch",
    ),
    mutant(
        "link_over",
        "A command is handed to an ended epoch, and its outcome is in doubt for nothing.",
        "recovery::ended_epoch_sends_nothing",
    ),
    mutant(
        "link_end_wakes",
        "A command that the client's channel keeps has no end: neither a reply, nor an error, nor a time-out.",
        "lane_ends::command_kept_by_the_channel_ends_with_its_epoch",
    ),
    mutant(
        "link_probe",
        "One slow command ends the connection of every caller.",
        "silence::slow_server_keeps_its_epoch",
    ),
    mutant(
        "link_readonly",
        "A demoted primary rejects every write forever.",
        "roles::rejected_write_ends_the_epoch_of_a_demoted_primary",
    ),
    mutant(
        "link_hooks_first",
        "The epoch is open before the recent invalidations were replayed.",
        "link::hooks::hook_completes_before_the_first_command",
    ),
    mutant(
        "link_runtime_ended",
        "A keel whose runtime has ended reports a replaced connection forever.",
        "outlived::calls_after_the_runtime_ended_return_that_error",
    ),
    mutant(
        "link_first_words",
        "A server other than Redis is reported as a value that could not be parsed.",
        "link::refusals::http_server_is_named_in_the_error",
    ),
    mutant(
        "link_old_version",
        "The error for Redis 6 is about syntax, and does not name the required version.",
        "link::refusals::redis_six_is_rejected_with_the_required_version",
    ),
    mutant(
        "link_listener_caught",
        "A listener that panics ends the connection at every push.",
        "link::hostile::panicking_listener_keeps_the_connection",
    ),
    mutant(
        "link_user_alone",
        "A user without a password is ignored, and the default user logs in.",
        "link::refusals::user_without_a_password_is_logged_in",
    ),
    mutant(
        "link_denied_logged",
        "A user without permissions makes every read a load, and only a metric shows it.",
        "link::access::missing_key_permissions_are_logged_once",
    ),
];
