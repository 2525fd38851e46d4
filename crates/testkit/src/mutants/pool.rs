//! The guards of pools, on which read/write locks and semaphores stand: lines of the scripts, their copies in the model, and the
//! user's side.

use super::{Mutant, mutant};

/// In the order of the steps.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "pool_acquire_repeat",
        "Whoever asks again after a lost answer is counted twice, or waits for itself.",
        "lock::pool_scripts::a_repeated_question_is_answered_the_same",
    ),
    mutant(
        "pool_permits_agree",
        "Two versions of a program let in as many as each thinks there are.",
        "lock::pool_scripts::another_number_of_permits_is_refused",
    ),
    mutant("pool_room", "More are let in than there is room for.", "lock::pool_scripts::no_more_than_there_are"),
    mutant(
        "pool_order",
        "Readers that come and go in turns keep a writer out for ever.",
        "lock::pool_scripts::a_waiting_writer_keeps_later_readers_back",
    ),
    mutant(
        "pool_turns_end",
        "A writer that waits for one long reader keeps all others out for as long.",
        "lock::pool_scripts::a_writer_lets_readers_pass_after_its_turn",
    ),
    mutant(
        "pool_lease_ends",
        "A reader that died is counted for ever.",
        "lock::pool_scripts::a_reader_that_died_is_out_after_its_lease",
    ),
    mutant(
        "pool_lease_from_future",
        "A clock that is set back keeps dead readers for as long.",
        "lock::pool_scripts::a_pools_clock_set_back_prolongs_nothing",
    ),
    mutant(
        "pool_fence_previous",
        "Two writers within a millisecond have the same fence.",
        "lock::pool_scripts::shared_fences_rise_within_one_millisecond",
    ),
    mutant(
        "pool_fence_time",
        "Fences begin at one again after a flush, and a zombie passes.",
        "lock::pool_scripts::a_shared_fence_is_as_high_as_the_clock",
    ),
    mutant(
        "pool_fence_floor",
        "A fence is below what SQL has seen, and the holder is refused there.",
        "lock::pool_scripts::a_shared_fence_is_above_its_floor",
    ),
    mutant(
        "pool_readers_share",
        "Each reader refuses those that read already.",
        "lock::pool_scripts::readers_share_a_fence",
    ),
    mutant(
        "pool_max_hold",
        "A guard that was leaked is renewed for ever.",
        "lock::pool_scripts::a_shared_lease_ends_at_its_limit",
    ),
    mutant(
        "pool_raise_owner",
        "A zombie lifts the fence of whoever has the lock now.",
        "lock::pool_scripts::nobody_lifts_the_fence_without_holding",
    ),
    mutant(
        "pool_raise_shared",
        "A reader that lifts the fence once more shuts out those who share it.",
        "lock::pool_scripts::a_shared_fence_is_lifted_once",
    ),
    mutant(
        "pool_break_owner",
        "An operator takes permits from holders that nobody has named.",
        "lock::pool_scripts::only_the_named_holder_is_broken",
    ),
    mutant(
        "model_pool_acquire_repeat",
        "Whoever asks again after a lost answer is counted twice, or waits for itself.",
        "hermetic::pool_model::a_repeated_question_is_answered_the_same",
    ),
    mutant(
        "model_pool_permits_agree",
        "Two versions of a program let in as many as each thinks there are.",
        "hermetic::pool_model::another_number_of_permits_is_refused",
    ),
    mutant(
        "model_pool_room",
        "More are let in than there is room for.",
        "hermetic::pool_model::no_more_than_there_are",
    ),
    mutant(
        "model_pool_order",
        "Readers that come and go in turns keep a writer out for ever.",
        "hermetic::pool_model::a_waiting_writer_keeps_later_readers_back",
    ),
    mutant(
        "model_pool_turns_end",
        "A writer that waits for one long reader keeps all others out for as long.",
        "hermetic::pool_model::a_writer_lets_readers_pass_after_its_turn",
    ),
    mutant(
        "model_pool_lease_ends",
        "A reader that died is counted for ever.",
        "hermetic::pool_model::a_reader_that_died_is_out_after_its_lease",
    ),
    mutant(
        "model_pool_lease_from_future",
        "A clock that is set back keeps dead readers for as long.",
        "hermetic::pool_model::a_pools_clock_set_back_prolongs_nothing",
    ),
    mutant(
        "model_pool_fence_previous",
        "Two writers within a millisecond have the same fence.",
        "hermetic::pool_model::shared_fences_rise_within_one_millisecond",
    ),
    mutant(
        "model_pool_fence_time",
        "Fences begin at one again after a flush, and a zombie passes.",
        "hermetic::pool_model::a_shared_fence_is_as_high_as_the_clock",
    ),
    mutant(
        "model_pool_fence_floor",
        "A fence is below what SQL has seen, and the holder is refused there.",
        "hermetic::pool_model::a_shared_fence_is_above_its_floor",
    ),
    mutant(
        "model_pool_readers_share",
        "Each reader refuses those that read already.",
        "hermetic::pool_model::readers_share_a_fence",
    ),
    mutant(
        "model_pool_max_hold",
        "A guard that was leaked is renewed for ever.",
        "hermetic::pool_model::a_shared_lease_ends_at_its_limit",
    ),
    mutant(
        "model_pool_raise_owner",
        "A zombie lifts the fence of whoever has the lock now.",
        "hermetic::pool_model::nobody_lifts_the_fence_without_holding",
    ),
    mutant(
        "model_pool_raise_shared",
        "A reader that lifts the fence once more shuts out those who share it.",
        "hermetic::pool_model::a_shared_fence_is_lifted_once",
    ),
    mutant(
        "model_pool_break_owner",
        "An operator takes permits from holders that nobody has named.",
        "hermetic::pool_model::only_the_named_holder_is_broken",
    ),
    mutant(
        "pool_release_tells",
        "Nobody is told that permits were given back.",
        "lock::side::permits::redis::who_waits_for_permits_is_woken",
    ),
    mutant(
        "model_pool_release_tells",
        "Nobody is told that permits were given back.",
        "lock::side::permits::memory::who_waits_for_permits_is_woken",
    ),
    mutant(
        "lock_place_is_given_up",
        "Whoever stopped waiting keeps those back who asked later.",
        "lock::side::readers::memory::a_writer_that_stops_waiting_keeps_nobody_back",
    ),
    mutant(
        "lock_stripes_agree",
        "Two versions of a program divide keys differently and do not keep each other out.",
        "lock::side::many::redis::another_number_of_stripes_is_refused",
    ),
    mutant(
        "pool_foreign_type",
        "A list that another program puts under the key of a pool keeps everybody out for ever.",
        "lock::side::foreign::foreign_bytes_under_a_key_are_replaced_by_the_next_acquisition",
    ),
    mutant(
        "pool_foreign_fields",
        "Another program's field in the hash of a pool ends every script.",
        "lock::side::foreign::foreign_bytes_under_a_key_are_replaced_by_the_next_acquisition",
    ),
];
