//! The locks' guards: lines of the scripts, their copies in the model, and the user's side.

use super::{Mutant, mutant};

/// In the order of the steps.
pub(super) const ROWS: &[Mutant] = &[
    mutant(
        "lock_acquire_repeat",
        "Whoever asks again after a lost answer waits for itself.",
        "lock::scripts::a_lost_reply_is_repeated",
    ),
    mutant(
        "lock_lease_from_future",
        "A clock that is set back keeps a dead holder's lock from everybody for as long.",
        "lock::scripts::a_clock_set_back_does_not_prolong_a_lease",
    ),
    mutant(
        "lock_fence_previous",
        "Two holders within a millisecond have the same fence.",
        "lock::scripts::fences_rise_within_one_millisecond",
    ),
    mutant(
        "lock_fence_time",
        "Fences begin at one again after a flush, and a zombie passes.",
        "lock::scripts::a_fence_is_as_high_as_the_clock",
    ),
    mutant(
        "lock_fence_floor",
        "A fence is below what SQL has seen, and the holder is refused there.",
        "lock::scripts::a_fence_is_above_what_sql_has_seen",
    ),
    mutant(
        "lock_renew_owner",
        "A holder that woke up late renews the lock of the next one.",
        "lock::scripts::nobody_renews_the_lock_of_another",
    ),
    mutant(
        "lock_renew_ended",
        "A lease that ran out comes back to life while others wait for its end.",
        "lock::scripts::a_renewal_after_the_end_is_refused",
    ),
    mutant("lock_max_hold", "A guard that was leaked is renewed for ever.", "lock::scripts::a_lease_ends_at_its_limit"),
    mutant(
        "lock_release_owner",
        "A holder that woke up late gives the lock of the next one back.",
        "lock::scripts::a_late_release_leaves_the_next_holder_alone",
    ),
    mutant(
        "lock_release_ended",
        "A holder that woke up late ends the time in which it is waited for.",
        "lock::scripts::a_late_release_does_not_end_the_cooling",
    ),
    mutant(
        "lock_turn",
        "A busy process wins its own lock again and again.",
        "lock::scripts::who_gave_it_back_lets_others_go_first",
    ),
    mutant(
        "lock_raise_owner",
        "A zombie lifts the fence of whoever has the lock now.",
        "lock::scripts::nobody_raises_the_fence_of_another",
    ),
    mutant(
        "lock_break_fence",
        "An operator breaks the lock of a holder that nobody has seen.",
        "lock::scripts::only_what_was_seen_is_broken",
    ),
    mutant(
        "model_lock_acquire_repeat",
        "Whoever asks again after a lost answer waits for itself.",
        "hermetic::lock_model::a_lost_reply_is_repeated",
    ),
    mutant(
        "model_lock_lease_from_future",
        "A clock that is set back keeps a dead holder's lock from everybody for as long.",
        "hermetic::lock_model::a_clock_set_back_does_not_prolong_a_lease",
    ),
    mutant(
        "model_lock_fence_previous",
        "Two holders within a millisecond have the same fence.",
        "hermetic::lock_model::fences_rise_within_one_millisecond",
    ),
    mutant(
        "model_lock_fence_time",
        "Fences begin at one again after a flush, and a zombie passes.",
        "hermetic::lock_model::a_fence_is_as_high_as_the_clock",
    ),
    mutant(
        "model_lock_fence_floor",
        "A fence is below what SQL has seen, and the holder is refused there.",
        "hermetic::lock_model::a_fence_is_above_what_sql_has_seen",
    ),
    mutant(
        "model_lock_renew_owner",
        "A holder that woke up late renews the lock of the next one.",
        "hermetic::lock_model::nobody_renews_the_lock_of_another",
    ),
    mutant(
        "model_lock_renew_ended",
        "A lease that ran out comes back to life while others wait for its end.",
        "hermetic::lock_model::a_renewal_after_the_end_is_refused",
    ),
    mutant(
        "model_lock_max_hold",
        "A guard that was leaked is renewed for ever.",
        "hermetic::lock_model::a_lease_ends_at_its_limit",
    ),
    mutant(
        "model_lock_release_owner",
        "A holder that woke up late gives the lock of the next one back.",
        "hermetic::lock_model::a_late_release_leaves_the_next_holder_alone",
    ),
    mutant(
        "model_lock_release_ended",
        "A holder that woke up late ends the time in which it is waited for.",
        "hermetic::lock_model::a_late_release_does_not_end_the_cooling",
    ),
    mutant(
        "model_lock_turn",
        "A busy process wins its own lock again and again.",
        "hermetic::lock_model::who_gave_it_back_lets_others_go_first",
    ),
    mutant(
        "model_lock_raise_owner",
        "A zombie lifts the fence of whoever has the lock now.",
        "hermetic::lock_model::nobody_raises_the_fence_of_another",
    ),
    mutant(
        "model_lock_break_fence",
        "An operator breaks the lock of a holder that nobody has seen.",
        "hermetic::lock_model::only_what_was_seen_is_broken",
    ),
    mutant(
        "lock_release_tells",
        "Nobody is told that a lock was given back.",
        "lock::side::queue::redis::another_process_is_woken_when_it_is_given_back",
    ),
    mutant(
        "model_lock_release_tells",
        "Nobody is told that a lock was given back.",
        "lock::side::queue::memory::another_process_is_woken_when_it_is_given_back",
    ),
    mutant(
        "lock_release_calls_one",
        "Every release wakes all processes that wait, and all but one of them in vain.",
        "lock::side::calls::a_release_calls_the_process_that_waits_longest_and_no_other",
    ),
    mutant(
        "lock_called_once",
        "A process that has died while it waited is called again and again, and nobody else.",
        "lock::scripts::who_is_called_and_does_not_come_counts_no_more",
    ),
    mutant(
        "model_lock_called_once",
        "A process that has died while it waited is called again and again, and nobody else.",
        "hermetic::lock_model::who_is_called_and_does_not_come_counts_no_more",
    ),
    mutant(
        "lock_look_after_another",
        "A process that was called and is gone keeps the lock from all others for a second.",
        "lock::side::calls::a_process_that_was_called_and_is_gone_is_not_waited_for",
    ),
    mutant(
        "lock_arm_then_attempt",
        "A release between the attempt and the wait is slept through.",
        "lock::side::faults::a_release_before_the_subscription_is_not_slept_through",
    ),
    mutant(
        "lock_local_deadline",
        "A holder that is cut off never learns that it lost the lock.",
        "lock::side::faults::a_holder_that_is_cut_off_loses_at_its_deadline",
    ),
    mutant(
        "lock_deadline_from_send",
        "After a slow answer a holder believes in its lease for longer than the server does.",
        "lock::side::faults::a_lease_counts_from_when_it_was_asked_for",
    ),
    mutant(
        "lock_late_grant",
        "A lock is handed out whose lease has ended.",
        "lock::side::faults::a_grant_that_comes_after_its_lease_is_not_handed_out",
    ),
    mutant(
        "lock_run_looks_first",
        "After a pause a future goes on as if nothing had happened.",
        "lock::side::holds::memory::a_future_is_not_polled_after_a_pause",
    ),
    mutant(
        "lock_cancelled_acquire",
        "An acquisition that was cancelled leaves the lock behind until its lease ends.",
        "lock::side::faults::an_acquire_that_is_dropped_before_its_answer_leaves_nothing",
    ),
    mutant(
        "lock_fence_is_compared",
        "A lower fence passes a higher one.",
        "lock::fence::refusals::mariadb::a_holder_that_came_too_late_is_refused",
    ),
    mutant(
        "lock_heal_before_reading",
        "A holder that has read an old state lifts its fence and writes over a later one.",
        "lock::fence::refusals::postgres::a_fence_that_fell_behind_after_a_read_is_not_healed",
    ),
    mutant(
        "lock_fence_first",
        "A transaction reads before its fence is stored, and an update is lost.",
        "lock::fence::paused::with_the_fence_first_no_update_is_lost_on_mariadb",
    ),
    mutant(
        "lock_idle_timeout",
        "A process that stands still in its transaction keeps everybody out.",
        "lock::fence::refusals::an_idle_holder_is_ended_on_postgres",
    ),
    mutant(
        "lock_fence_owner",
        "Two holders whom Redis gave the same fence both pass.",
        "lock::fence::refusals::mariadb::a_fence_that_came_twice_is_one_holders",
    ),
    mutant(
        "lock_wait_bounds_answers",
        "An acquisition of two seconds takes four while Redis hangs.",
        "side::faults::a_wait_ends_while_redis_hangs",
    ),
    mutant(
        "model_lock_forgotten_fence",
        "A name that was forgotten begins again below its last fence.",
        "lock::memory::tests::a_fence_is_above_those_of_a_forgotten_name",
    ),
    mutant(
        "model_pool_forgotten_fence",
        "A read/write lock that was forgotten begins again below its last fence.",
        "lock::pool::memory::tests::a_pool_that_nobody_uses_is_forgotten_among_many",
    ),
    mutant(
        "lock_foreign_type",
        "A hash that another program puts under a key of a lock keeps everybody out for ever.",
        "lock::side::foreign::foreign_bytes_under_a_key_are_replaced_by_the_next_acquisition",
    ),
    mutant(
        "lock_foreign_bytes",
        "Another program's text under a key of a lock is taken for a held lock, or ends every script.",
        "lock::side::foreign::foreign_bytes_under_a_key_are_replaced_by_the_next_acquisition",
    ),
    mutant(
        "lock_fence_of_nobody",
        "A row with a fence that no lock has had is lifted above for ever: try later.",
        "lock::fence::refusals::sqlite::row_with_a_fence_that_nobody_has_is_named",
    ),
    mutant(
        "lock_idle_timeout_bounded",
        "With a lease of months no transaction begins on PostgreSQL.",
        "lock::fence::refusals::postgres::longest_lease_begins_a_transaction",
    ),
    mutant(
        "lock_floor_bounded",
        "A floor that leaves no room for higher fences gives two holders in a row the same one.",
        "lock::side::extremes::redis::fences_rise_above_the_highest_floor",
    ),
    mutant(
        "lock_refuses_first",
        "A call that can never succeed waits for the lock before it is refused.",
        "lock::side::bounds::memory::an_invalid_call_is_refused_before_it_waits",
    ),
    mutant(
        "lock_reaper_ends",
        "The task that gives locks back goes on for as long as its runtime lives.",
        "resources::ends::redis::a_lock_that_was_released_keeps_nothing",
    ),
    mutant(
        "lock_reaper_sends_last",
        "A lock that is dropped with its keel is held until its lease ends.",
        "lock::side::faults::lock_whose_release_was_lost_is_given_back_after_its_keel",
    ),
];
