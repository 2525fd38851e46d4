//! The guards of ids: lines of the scripts, their copies in the model, and the user's side.

use super::{Mutant, mutant};

/// In the order of the steps.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "id_settings_agree",
        "Two programs with different settings of one scope disagree about what may be reserved.",
        "id::scripts::different_settings_are_rejected",
    ),
    mutant(
        "id_clock_back",
        "A clock that is set back stops ids for as long.",
        "id::scripts::clock_set_back_does_not_stop_reservations",
    ),
    mutant(
        "id_clocks_apart",
        "A mistaken time of the store stays reserved forever.",
        "id::scripts::clocks_an_hour_apart_reserve_nothing",
    ),
    mutant(
        "id_acquire_repeat",
        "A caller that repeats its request after a lost reply leases two worker ids.",
        "id::scripts::repeated_acquisition_returns_the_same_worker_id",
    ),
    mutant(
        "id_workers_bound",
        "A worker id has more bits than the layout, and changes the time of its ids.",
        "id::scripts::worker_ids_are_distinct_and_bounded",
    ),
    mutant(
        "id_above_forgotten",
        "A store that has forgotten an owner lets the next one issue the same ids.",
        "id::scripts::new_owner_begins_above_time_that_was_forgotten",
    ),
    mutant(
        "id_extend_owner",
        "A superseded owner reserves the time of its successor.",
        "id::scripts::extension_requires_the_owner",
    ),
    mutant(
        "id_extend_lease",
        "A promoted replica that has forgotten a successor lets its predecessor go on.",
        "id::scripts::extension_requires_a_lease",
    ),
    mutant("id_reserved_grows", "Reserved time is taken back.", "id::scripts::reserved_time_only_grows"),
    mutant(
        "id_release_ends_lease",
        "A released owner extends, and its worker id stays leased.",
        "id::scripts::released_owner_never_extends",
    ),
    mutant(
        "model_id_settings_agree",
        "Two programs with different settings of one scope disagree about what may be reserved.",
        "hermetic::models::id::different_settings_are_rejected",
    ),
    mutant(
        "model_id_clock_back",
        "A clock that is set back stops ids for as long.",
        "hermetic::models::id::clock_set_back_does_not_stop_reservations",
    ),
    mutant(
        "model_id_clocks_apart",
        "A mistaken time of the store stays reserved forever.",
        "hermetic::models::id::clocks_an_hour_apart_reserve_nothing",
    ),
    mutant(
        "model_id_acquire_repeat",
        "A caller that repeats its request after a lost reply leases two worker ids.",
        "hermetic::models::id::repeated_acquisition_returns_the_same_worker_id",
    ),
    mutant(
        "model_id_workers_bound",
        "A worker id has more bits than the layout, and changes the time of its ids.",
        "hermetic::models::id::worker_ids_are_distinct_and_bounded",
    ),
    mutant(
        "model_id_above_forgotten",
        "A store that has forgotten an owner lets the next one issue the same ids.",
        "hermetic::models::id::new_owner_begins_above_time_that_was_forgotten",
    ),
    mutant(
        "model_id_extend_owner",
        "A superseded owner reserves the time of its successor.",
        "hermetic::models::id::extension_requires_the_owner",
    ),
    mutant(
        "model_id_extend_lease",
        "An owner whose lease is over goes on.",
        "hermetic::models::id::extension_requires_a_lease",
    ),
    mutant("model_id_reserved_grows", "Reserved time is taken back.", "hermetic::models::id::reserved_time_only_grows"),
    mutant(
        "model_id_release_ends_lease",
        "A released owner extends, and its worker id stays leased.",
        "hermetic::models::id::released_owner_never_extends",
    ),
];
