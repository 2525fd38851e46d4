//! The locks' guards: lines of the scripts, their copies in the model, and the user's side.

use crate::mutants::{Mutant, mutant};

/// In the order of the steps.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "lock_acquire_repeat",
        "A caller that repeats its request after a lost reply waits for itself.",
        "lock::scripts::repeated_call_returns_the_same_reply",
    ),
    mutant(
        "lock_lease_from_future",
        "A clock that is set back extends a dead holder's lock by as much.",
        "lock::scripts::clock_set_back_does_not_extend_a_lease",
    ),
    mutant(
        "lock_fence_previous",
        "Two holders within a millisecond have the same fence.",
        "lock::scripts::fences_rise_within_one_millisecond",
    ),
    mutant(
        "lock_fence_time",
        "Fences begin at one again after a flush, and a zombie passes.",
        "lock::scripts::fence_is_at_least_the_server_time",
    ),
    mutant(
        "lock_fence_floor",
        "A fence is below the one that SQL has seen, and SQL rejects the holder.",
        "lock::scripts::new_fence_exceeds_the_fence_seen_by_sql",
    ),
    mutant(
        "lock_renew_owner",
        "A late holder renews the lock of the next one.",
        "lock::scripts::renewal_requires_the_owner",
    ),
    mutant(
        "lock_renew_ended",
        "A renewal revives an expired lease during its lock delay.",
        "lock::scripts::renewal_during_the_lock_delay_is_rejected",
    ),
    mutant("lock_max_hold", "A leaked guard is renewed forever.", "lock::scripts::renewals_end_at_max_hold"),
    mutant(
        "lock_release_owner",
        "A late holder releases the lock of the next one.",
        "lock::scripts::late_release_does_not_free_the_next_holder",
    ),
    mutant(
        "lock_release_ended",
        "A late holder ends its own lock delay.",
        "lock::scripts::late_release_does_not_end_the_lock_delay",
    ),
    mutant(
        "lock_turn",
        "A busy process wins its own lock again and again.",
        "lock::scripts::releasing_process_yields_to_waiters",
    ),
    mutant(
        "lock_raise_owner",
        "A zombie raises the fence of the current holder.",
        "lock::scripts::raise_requires_the_owner",
    ),
    mutant(
        "lock_break_fence",
        "An operator breaks the lock of a holder other than the inspected one.",
        "lock::scripts::break_affects_only_the_inspected_holder",
    ),
    mutant(
        "model_lock_acquire_repeat",
        "A caller that repeats its request after a lost reply waits for itself.",
        "hermetic::models::lock::repeated_call_returns_the_same_reply",
    ),
    mutant(
        "model_lock_lease_from_future",
        "A clock that is set back extends a dead holder's lock by as much.",
        "hermetic::models::lock::clock_set_back_does_not_extend_a_lease",
    ),
    mutant(
        "model_lock_fence_previous",
        "Two holders within a millisecond have the same fence.",
        "hermetic::models::lock::fences_rise_within_one_millisecond",
    ),
    mutant(
        "model_lock_fence_time",
        "Fences begin at one again after a flush, and a zombie passes.",
        "hermetic::models::lock::fence_is_at_least_the_server_time",
    ),
    mutant(
        "model_lock_fence_floor",
        "A fence is below the one that SQL has seen, and SQL rejects the holder.",
        "hermetic::models::lock::new_fence_exceeds_the_fence_seen_by_sql",
    ),
    mutant(
        "model_lock_renew_owner",
        "A late holder renews the lock of the next one.",
        "hermetic::models::lock::renewal_requires_the_owner",
    ),
    mutant(
        "model_lock_renew_ended",
        "A renewal revives an expired lease during its lock delay.",
        "hermetic::models::lock::renewal_during_the_lock_delay_is_rejected",
    ),
    mutant(
        "model_lock_max_hold",
        "A leaked guard is renewed forever.",
        "hermetic::models::lock::renewals_end_at_max_hold",
    ),
    mutant(
        "model_lock_release_owner",
        "A late holder releases the lock of the next one.",
        "hermetic::models::lock::late_release_does_not_free_the_next_holder",
    ),
    mutant(
        "model_lock_release_ended",
        "A late holder ends its own lock delay.",
        "hermetic::models::lock::late_release_does_not_end_the_lock_delay",
    ),
    mutant(
        "model_lock_turn",
        "A busy process wins its own lock again and again.",
        "hermetic::models::lock::releasing_process_yields_to_waiters",
    ),
    mutant(
        "model_lock_raise_owner",
        "A zombie raises the fence of the current holder.",
        "hermetic::models::lock::raise_requires_the_owner",
    ),
    mutant(
        "model_lock_break_fence",
        "An operator breaks the lock of a holder other than the inspected one.",
        "hermetic::models::lock::break_affects_only_the_inspected_holder",
    ),
    mutant(
        "lock_ledger_says_that_one_waits",
        "A release does not look for waiters, and notifies none.",
        "lock::side::queue::redis::release_wakes_another_process",
    ),
    mutant(
        "lock_release_notifies",
        "A release notifies no waiter.",
        "lock::side::queue::redis::release_wakes_another_process",
    ),
    mutant(
        "model_lock_release_notifies",
        "A release notifies no waiter.",
        "lock::side::queue::memory::release_wakes_another_process",
    ),
    mutant(
        "lock_release_calls_one",
        "Every release wakes all waiting processes, and all but one of them in vain.",
        "lock::side::calls::release_calls_only_the_longest_waiting_process",
    ),
    mutant(
        "lock_called_once",
        "A process that died while it waited is called again and again, and no other one.",
        "lock::scripts::called_waiter_that_stays_away_is_not_counted",
    ),
    mutant(
        "model_lock_called_once",
        "A process that died while it waited is called again and again, and no other one.",
        "hermetic::models::lock::called_waiter_that_stays_away_is_not_counted",
    ),
    mutant(
        "lock_look_after_another",
        "A called process that is gone keeps the lock from all others for a second.",
        "lock::side::calls::dead_notified_waiter_does_not_delay_others",
    ),
    mutant(
        "lock_arm_then_attempt",
        "A waiter misses a release between its attempt and its wait.",
        "faults::release_before_the_subscription_wakes_the_waiter",
    ),
    mutant(
        "lock_local_deadline",
        "A disconnected holder never learns that it lost the lock.",
        "faults::disconnected_holder_loses_its_lock_at_the_deadline",
    ),
    mutant(
        "lock_deadline_from_send",
        "After a slow reply a holder believes in its lease for longer than the server does.",
        "faults::lease_counts_from_the_request",
    ),
    mutant(
        "lock_late_grant",
        "A lock is granted whose lease has expired.",
        "faults::grant_that_arrives_after_its_lease_is_discarded",
    ),
    mutant(
        "lock_run_looks_first",
        "After a pause a future is polled although its lease has expired.",
        "lock::side::holds::memory::future_is_not_polled_after_the_lease_expired",
    ),
    mutant(
        "lock_cancelled_acquire",
        "A canceled acquisition leaves the lock behind until its lease expires.",
        "faults::acquire_dropped_before_its_reply_leaves_nothing",
    ),
    mutant(
        "lock_fence_is_compared",
        "A lower fence passes a higher one.",
        "lock::fence::refusals::mariadb::late_holder_is_rejected",
    ),
    mutant(
        "lock_heal_before_reading",
        "A holder that has read an old state raises its fence and overwrites a later holder's write.",
        "lock::fence::refusals::postgres::fence_behind_after_a_read_is_rejected",
    ),
    mutant(
        "lock_fence_by_database",
        "A holder that uses a second pool of its database raises its fence there, after it has read an old state.",
        "lock::fence::databases::postgres::another_pool_of_the_database_rejects_what_it_has_rejected",
    ),
    mutant(
        "lock_fence_first",
        "A transaction reads before its fence is stored, and an update is lost.",
        "lock::fence::paused::fence_first_loses_no_update_on_mariadb",
    ),
    mutant(
        "lock_idle_timeout",
        "A process stopped in its transaction blocks all others.",
        "lock::fence::refusals::idle_transaction_is_ended_on_postgres",
    ),
    mutant(
        "lock_fence_owner",
        "Two holders with the same fence from Redis both pass.",
        "lock::fence::refusals::mariadb::equal_fence_of_another_holder_is_rejected",
    ),
    mutant(
        "lock_wait_bounds_answers",
        "An acquisition of two seconds takes four while Redis hangs.",
        "faults::wait_ends_on_time_while_redis_hangs",
    ),
    mutant(
        "model_lock_forgotten_fence",
        "A forgotten name begins again below its last fence.",
        "lock::memory::tests::fence_exceeds_those_of_a_forgotten_name",
    ),
    mutant(
        "model_pool_forgotten_fence",
        "A forgotten read/write lock begins again below its last fence.",
        "lock::pool::backend::tests::unused_pool_is_forgotten_among_many",
    ),
    mutant(
        "lock_foreign_type",
        "A foreign hash under a key of a lock blocks every caller forever.",
        "foreign::foreign_bytes_in_a_held_lock_end_the_hold",
    ),
    mutant(
        "lock_foreign_bytes",
        "Foreign text under a key of a lock is taken for a held lock, or fails every script.",
        "foreign::foreign_bytes_are_replaced_by_the_next_acquire",
    ),
    mutant(
        "lock_fence_without_owner",
        "Fences are raised above an impossible one in a row forever: try later.",
        "lock::fence::refusals::sqlite::impossible_fence_in_a_row_is_reported",
    ),
    mutant(
        "lock_idle_timeout_bounded",
        "With a lease of months no transaction begins on PostgreSQL.",
        "lock::fence::refusals::postgres::longest_lease_begins_a_transaction",
    ),
    mutant(
        "lock_floor_bounded",
        "A floor without room for higher fences gives two holders in a row the same one.",
        "lock::side::extremes::redis::fences_rise_above_the_highest_floor",
    ),
    mutant(
        "lock_refuses_first",
        "A call that can never succeed waits for the lock before it is refused.",
        "lock::side::bounds::memory::invalid_arguments_are_rejected_before_the_wait",
    ),
    mutant(
        "lock_reaper_ends",
        "The task that releases locks runs for as long as its runtime lives.",
        "resources::ends::redis::released_lock_frees_everything",
    ),
    mutant(
        "lock_reaper_sends_last",
        "A lock dropped with its keel is held until its lease expires.",
        "faults::lost_release_is_repeated_after_the_keel_is_dropped",
    ),
    mutant(
        "lock_waiter_polls",
        "A waiter whose notification was lost waits until the lease of the holder ends.",
        "lock::side::calls::waiter_polls_after_a_second_without_a_notification",
    ),
];
