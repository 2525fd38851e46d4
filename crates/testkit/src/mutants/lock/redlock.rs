//! The guards of the lock over several servers.

use crate::mutants::{Mutant, mutant};

/// In the order in which an acquisition meets them.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "redlock_servers_differ",
        "A server that is given twice answers for two, and alone is the majority of three.",
        "lock::redlock::extremes::server_that_is_given_twice_is_refused",
    ),
    mutant(
        "redlock_outsider",
        "A server restarted without its data grants held locks.",
        "lock::redlock::forgetting::redis::empty_server_grants_no_lock_until_leases_end",
    ),
    mutant(
        "model_redlock_outsider",
        "A server restarted without its data grants held locks.",
        "lock::redlock::forgetting::memory::empty_server_grants_no_lock_until_leases_end",
    ),
    mutant(
        "redlock_sit_out",
        "A server that may have lost locks takes part again while they are held.",
        "lock::redlock::forgetting::memory::empty_server_grants_no_lock_until_leases_end",
    ),
    mutant(
        "redlock_floor",
        "Fences fall once every server has lost its data.",
        "lock::redlock::forgetting::redis::fences_rise_though_every_server_forgets_in_turn",
    ),
    mutant(
        "model_redlock_floor",
        "Fences fall once every server has lost its data.",
        "lock::redlock::forgetting::memory::fences_rise_though_every_server_forgets_in_turn",
    ),
    mutant(
        "redlock_write_back",
        "A fence falls when the server with the fastest clock is not among the next holder's.",
        "lock::redlock::partial::fences_rise_though_server_clocks_differ",
    ),
    mutant(
        "redlock_drift",
        "A server with a fast clock grants a lock that its holder still believes in.",
        "lock::redlock::holds::memory::lease_is_shortened_by_the_clock_drift",
    ),
    mutant(
        "redlock_release_everywhere",
        "A server whose reply was lost keeps the lock for a whole lease.",
        "lock::redlock::partial::possible_grants_are_released_after_a_failed_round",
    ),
    mutant(
        "redlock_round_owner",
        "A late release of a failed round releases the grant of the next round.",
        "lock::redlock::rounds::tests::uncertain_round_is_not_continued",
    ),
    mutant(
        "redlock_rejoin",
        "A majority is lost as its servers restart one after another.",
        "lock::redlock::forgetting::memory::renewal_restores_the_lock_on_an_empty_server",
    ),
    mutant(
        "model_redlock_tombstone",
        "A rejoin after the release holds the lock for a whole lease.",
        "lock::node::memory::tests::rejoin_after_the_release_is_rejected",
    ),
    mutant(
        "redlock_names_unreached",
        "A wrong password for the servers of a Redlock is reported as unavailable servers.",
        "lock::redlock::refusals::wrong_password_error_names_the_server",
    ),
];
