//! The guards of the lock over several servers.

use super::{Mutant, mutant};

/// In the order in which an acquisition meets them.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "redlock_outsider",
        "A server that was started again without its data gives away what is held.",
        "lock::redlock::forgetting::redis::a_server_that_forgot_a_lock_does_not_give_it_away",
    ),
    mutant(
        "model_redlock_outsider",
        "A server that was started again without its data gives away what is held.",
        "lock::redlock::forgetting::memory::a_server_that_forgot_a_lock_does_not_give_it_away",
    ),
    mutant(
        "redlock_sit_out",
        "A server that may have forgotten locks takes part again while they are believed in.",
        "lock::redlock::forgetting::memory::a_server_that_forgot_a_lock_does_not_give_it_away",
    ),
    mutant(
        "redlock_floor",
        "Fences fall once every server has forgotten.",
        "lock::redlock::forgetting::redis::fences_rise_though_all_servers_forget_one_after_another",
    ),
    mutant(
        "model_redlock_floor",
        "Fences fall once every server has forgotten.",
        "lock::redlock::forgetting::memory::fences_rise_though_all_servers_forget_one_after_another",
    ),
    mutant(
        "redlock_write_back",
        "A fence falls when the server with the fastest clock is not among the next holder's.",
        "lock::redlock::partial::fences_rise_though_clocks_are_apart",
    ),
    mutant(
        "redlock_drift",
        "A server whose clock is fast gives a lock away that its holder still believes in.",
        "lock::redlock::holds::memory::a_lease_is_shorter_than_the_servers_say",
    ),
    mutant(
        "redlock_release_everywhere",
        "A server whose answer was not heard keeps the lock for a whole lease.",
        "lock::redlock::partial::what_a_server_may_have_granted_is_given_back",
    ),
    mutant(
        "redlock_round_owner",
        "A late release of a round that failed takes back what the next round was granted.",
        "lock::redlock::rounds::tests::a_round_that_may_have_left_something_is_not_continued",
    ),
    mutant(
        "redlock_rejoin",
        "A majority wears out as its servers are started again one after another.",
        "lock::redlock::forgetting::memory::a_holder_comes_back_to_a_server_that_forgot",
    ),
    mutant(
        "model_redlock_tombstone",
        "A rejoin that comes after the release holds the lock for a whole lease.",
        "lock::redlock::memory_node::tests::a_rejoin_after_the_release_is_refused",
    ),
    mutant(
        "redlock_names_unreached",
        "A wrong password for the servers of a Redlock reads as if they were away.",
        "lock::redlock::refusals::wrong_password_is_named_with_its_server",
    ),
];
