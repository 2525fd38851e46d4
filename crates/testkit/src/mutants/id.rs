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
        "id::failures::promoted_replica_that_forgot_a_successor_repeats_no_id",
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
        "id_witness_refuses",
        "A database that was restored from an older state issues its numbers again.",
        "id::scripts::witness_refuses_blocks_below_a_used_one",
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
    mutant(
        "model_id_witness_refuses",
        "A database that was restored from an older state issues its numbers again.",
        "hermetic::models::id::witness_refuses_blocks_below_a_used_one",
    ),
    mutant(
        "id_range_tag",
        "A promoted replica hands out numbers again that its primary has handed out.",
        "id::ranges::range_of_another_server_is_not_handed_out",
    ),
    mutant(
        "id_range_history",
        "A server that was demoted and promoted again hands out numbers again that it has handed out before.",
        "id::ranges::range_that_came_back_with_another_history_is_not_handed_out",
    ),
    mutant(
        "id_range_rises",
        "The numbers of a process fall when it takes from a range after it took a block of its own.",
        "id::scripts::numbers_below_the_least_are_left_out",
    ),
    mutant(
        "id_range_above_witness",
        "A database that was restored from an older state lets Redis hand its numbers out again.",
        "id::scripts::range_below_the_witness_is_refused",
    ),
    mutant(
        "id_range_used_up",
        "Processes that load at the same time replace each other's ranges and waste them.",
        "id::scripts::range_that_is_not_used_up_is_not_replaced",
    ),
    mutant(
        "model_id_range_rises",
        "The numbers of a process fall when it takes from a range after it took a block of its own.",
        "hermetic::models::id::numbers_below_the_least_are_left_out",
    ),
    mutant(
        "model_id_range_above_witness",
        "A database that was restored from an older state lets the store hand its numbers out again.",
        "hermetic::models::id::range_below_the_witness_is_refused",
    ),
    mutant(
        "model_id_range_used_up",
        "Processes that load at the same time replace each other's ranges and waste them.",
        "hermetic::models::id::range_that_is_not_used_up_is_not_replaced",
    ),
    mutant(
        "id_reserved_end",
        "A process issues ids beyond its reserved time, which another one may have.",
        "id::stories::memory::ids_end_with_the_reserved_time",
    ),
    mutant(
        "id_reserved_from",
        "A new owner issues the ids of its predecessor.",
        "id::failures::flushed_store_repeats_no_id",
    ),
    mutant(
        "id_first_sequence",
        "At a low rate all ids fall on one shard of a modulus.",
        "id::stories::memory::first_sequence_numbers_of_ticks_are_spread",
    ),
    mutant(
        "id_rises_with_a_new_worker",
        "The ids of a generator fall when it gets a lower worker id within a tick.",
        "id::failures::ids_of_a_generator_rise_although_the_store_goes_back",
    ),
    mutant(
        "id_wait_ends",
        "A caller waits forever for a store that is away.",
        "id::failures::caller_waits_no_longer_than_it_may",
    ),
    mutant(
        "id_released_stays",
        "A generator that was released leases a worker id again.",
        "id::stories::memory::released_generator_issues_nothing_more",
    ),
    mutant(
        "segments_rise",
        "A database and its witness go back, and a process issues its own numbers again.",
        "id::segments::process_notices_what_the_witness_forgot",
    ),
    mutant(
        "segments_jump",
        "A restored database issues nothing until it has passed the witness block by block.",
        "id::segments::sqlite::restored_database_is_noticed_by_another_process",
    ),
    mutant(
        "segments_adapt",
        "A busy sequence asks its database for each hundred numbers.",
        "segments::buffer::tests::size_of_blocks_follows_their_use",
    ),
];
