//! The guards of pools, on which read/write locks and semaphores stand: lines of the scripts, their copies in the model, and the
//! user's side.

use crate::mutants::{Mutant, mutant};

/// In the order of the steps.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "pool_acquire_repeat",
        "A caller that repeats its request after a lost reply counts twice, or waits for itself.",
        "lock::pool_scripts::repeated_acquire_returns_the_same_result",
    ),
    mutant(
        "pool_permits_agree",
        "Two versions of a program let in as many as each thinks there are.",
        "lock::pool_scripts::different_number_of_permits_is_rejected",
    ),
    mutant(
        "pool_room",
        "More holders are admitted than there are permits.",
        "lock::pool_scripts::permits_never_exceed_their_number",
    ),
    mutant(
        "pool_order",
        "Readers that come and go in turns starve a writer.",
        "lock::pool_scripts::waiting_writer_blocks_later_readers",
    ),
    mutant(
        "pool_turns_end",
        "A writer that waits for one long reader blocks all others for as long.",
        "lock::pool_scripts::waiting_writer_lets_readers_pass_after_its_turn",
    ),
    mutant(
        "pool_lease_ends",
        "A dead reader is counted forever.",
        "lock::pool_scripts::dead_reader_is_removed_after_its_lease",
    ),
    mutant(
        "pool_lease_from_future",
        "A clock that is set back extends dead readers' leases by as much.",
        "lock::pool_scripts::clock_set_back_does_not_extend_a_pool_lease",
    ),
    mutant(
        "pool_fence_previous",
        "Two writers within a millisecond have the same fence.",
        "lock::pool_scripts::shared_fences_rise_within_one_millisecond",
    ),
    mutant(
        "pool_fence_time",
        "Fences begin at one again after a flush, and a zombie passes.",
        "lock::pool_scripts::shared_fence_is_at_least_the_server_time",
    ),
    mutant(
        "pool_fence_floor",
        "A fence is below the one that SQL has seen, and SQL rejects the holder.",
        "lock::pool_scripts::shared_fence_exceeds_its_floor",
    ),
    mutant(
        "pool_readers_share",
        "Each reader causes the rejection of earlier readers.",
        "lock::pool_scripts::readers_share_a_fence",
    ),
    mutant("pool_max_hold", "A leaked guard is renewed forever.", "lock::pool_scripts::shared_lease_ends_at_max_hold"),
    mutant(
        "pool_raise_owner",
        "A zombie raises the fence of the current holder.",
        "lock::pool_scripts::raise_of_a_shared_fence_requires_a_holder",
    ),
    mutant(
        "pool_raise_shared",
        "A reader that raises the fence twice excludes the readers that share it.",
        "lock::pool_scripts::shared_fence_is_raised_once",
    ),
    mutant(
        "pool_break_owner",
        "An operator breaks the permits of holders that were not named.",
        "lock::pool_scripts::break_removes_only_the_named_holder",
    ),
    mutant(
        "model_pool_acquire_repeat",
        "A caller that repeats its request after a lost reply counts twice, or waits for itself.",
        "hermetic::models::pool::repeated_acquire_returns_the_same_result",
    ),
    mutant(
        "model_pool_permits_agree",
        "Two versions of a program let in as many as each thinks there are.",
        "hermetic::models::pool::different_number_of_permits_is_rejected",
    ),
    mutant(
        "model_pool_room",
        "More holders are admitted than there are permits.",
        "hermetic::models::pool::permits_never_exceed_their_number",
    ),
    mutant(
        "model_pool_order",
        "Readers that come and go in turns starve a writer.",
        "hermetic::models::pool::waiting_writer_blocks_later_readers",
    ),
    mutant(
        "model_pool_turns_end",
        "A writer that waits for one long reader blocks all others for as long.",
        "hermetic::models::pool::waiting_writer_lets_readers_pass_after_its_turn",
    ),
    mutant(
        "model_pool_lease_ends",
        "A dead reader is counted forever.",
        "hermetic::models::pool::dead_reader_is_removed_after_its_lease",
    ),
    mutant(
        "model_pool_lease_from_future",
        "A clock that is set back extends dead readers' leases by as much.",
        "hermetic::models::pool::clock_set_back_does_not_extend_a_pool_lease",
    ),
    mutant(
        "model_pool_fence_previous",
        "Two writers within a millisecond have the same fence.",
        "hermetic::models::pool::shared_fences_rise_within_one_millisecond",
    ),
    mutant(
        "model_pool_fence_time",
        "Fences begin at one again after a flush, and a zombie passes.",
        "hermetic::models::pool::shared_fence_is_at_least_the_server_time",
    ),
    mutant(
        "model_pool_fence_floor",
        "A fence is below the one that SQL has seen, and SQL rejects the holder.",
        "hermetic::models::pool::shared_fence_exceeds_its_floor",
    ),
    mutant(
        "model_pool_readers_share",
        "Each reader causes the rejection of earlier readers.",
        "hermetic::models::pool::readers_share_a_fence",
    ),
    mutant(
        "model_pool_max_hold",
        "A leaked guard is renewed forever.",
        "hermetic::models::pool::shared_lease_ends_at_max_hold",
    ),
    mutant(
        "model_pool_raise_owner",
        "A zombie raises the fence of the current holder.",
        "hermetic::models::pool::raise_of_a_shared_fence_requires_a_holder",
    ),
    mutant(
        "model_pool_raise_shared",
        "A reader that raises the fence twice excludes the readers that share it.",
        "hermetic::models::pool::shared_fence_is_raised_once",
    ),
    mutant(
        "model_pool_break_owner",
        "An operator breaks the permits of holders that were not named.",
        "hermetic::models::pool::break_removes_only_the_named_holder",
    ),
    mutant(
        "pool_asked_order",
        "The second waiter of a process is served after waiters of other processes that asked later.",
        "lock::pool_scripts::local_waiter_is_served_by_the_time_it_asked",
    ),
    mutant(
        "pool_watch_due",
        "No waiter that polls finds that a lease has ended.",
        "lock::pool_scripts::poll_keeps_the_place_until_a_watch_is_due",
    ),
    mutant(
        "pool_watch_notifies",
        "A waiter finds an expired lease, and the waiter whose turn it is does not receive that.",
        "lock::pool_scripts::watch_notifies_the_waiter_with_room",
    ),
    mutant(
        "pool_release_notifies",
        "A release of permits notifies no waiter.",
        "permits::redis::release_wakes_waiters_for_permits",
    ),
    mutant(
        "model_pool_asked_order",
        "The second waiter of a process is served after waiters of other processes that asked later.",
        "hermetic::models::pool::local_waiter_is_served_by_the_time_it_asked",
    ),
    mutant(
        "model_pool_watch_due",
        "No waiter that polls finds that a lease has ended.",
        "hermetic::models::pool::poll_keeps_the_place_until_a_watch_is_due",
    ),
    mutant(
        "model_pool_watch_notifies",
        "A waiter finds an expired lease, and the waiter whose turn it is does not receive that.",
        "hermetic::models::pool::watch_notifies_the_waiter_with_room",
    ),
    mutant(
        "model_pool_release_notifies",
        "A release of permits notifies no waiter.",
        "permits::memory::release_wakes_waiters_for_permits",
    ),
    mutant(
        "lock_place_is_given_up",
        "A waiter that gave up blocks later ones.",
        "readers::memory::writer_that_stops_waiting_does_not_block_readers",
    ),
    mutant(
        "lock_asks_ahead_bounded",
        "Tasks that ask for a share at once send more calls than Redis answers in time.",
        "pool_faults::herd_of_waiters_asks_a_few_at_a_time",
    ),
    mutant(
        "lock_stripes_agree",
        "Two versions of a program divide keys differently and do not exclude each other.",
        "lock::side::many::redis::different_stripe_count_is_rejected",
    ),
    mutant(
        "pool_foreign_type",
        "A foreign list under the key of a pool blocks every caller forever.",
        "foreign::foreign_bytes_are_replaced_by_the_next_acquire",
    ),
    mutant(
        "pool_foreign_fields",
        "A foreign field in the hash of a pool fails every script.",
        "foreign::foreign_bytes_are_replaced_by_the_next_acquire",
    ),
];
