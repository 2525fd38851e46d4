//! The suite of locks: docs/spec/lock.md, said as tests. L-numbers are bugs met elsewhere.

mod acquire;
mod operate;
mod release;
mod renew;
mod rows;
pub mod side_by_side;
mod world;

pub use acquire::*;
pub use operate::*;
pub use release::*;
pub use renew::*;
pub use rows::Rows;
pub use world::{LEASE_MS, Party, World};

/// Makes a test of every function of the suite: `lock_suite!(world)`, where `world` is an async function that answers
/// `anyhow::Result<World<_>>`. Where a fresh world costs much, one test plays all that need no knowledge of who waits:
/// `lock_suite!(name in stand)`, where `stand` is an async function that answers something with a method `world(&str)`.
#[macro_export]
macro_rules! lock_suite {
    ($world:path) => {
        $crate::lock_suite!(@common each $world:
            // whose turn it is
            who_gave_it_back_lets_others_go_first, a_turn_that_is_not_taken_ends, nobody_yields_to_nobody,
            a_waiter_that_falls_silent_is_forgotten, who_is_called_and_does_not_come_counts_no_more,
            a_release_can_say_that_its_process_goes_on_waiting, who_looks_sees_the_holder,
        );
    };
    ($test:ident in $stand:path) => {
        $crate::lock_suite!(@common in_turn $test $stand:);
    };
    (@common $($suite:tt)*) => {
        $crate::lock_suite!(@$($suite)*
            // acquire
            a_free_lock_is_granted_and_then_taken, a_lost_reply_is_repeated, fences_rise_within_one_millisecond,
            a_fence_is_as_high_as_the_clock, a_fence_is_above_what_sql_has_seen, a_lease_that_ran_out_is_free,
            a_lease_that_ran_out_cools, a_clock_set_back_does_not_prolong_a_lease, what_cannot_work_is_refused,
            // renew
            a_renewal_counts_from_now, nobody_renews_the_lock_of_another, a_renewal_never_creates,
            a_renewal_after_the_end_is_refused, a_lease_ends_at_its_limit, a_limit_below_the_lease_bounds_it,
            // release
            a_release_frees_once, a_late_release_leaves_the_next_holder_alone, a_late_release_does_not_end_the_cooling,
            a_release_starts_no_cooling,
            // operate
            a_fence_that_fell_behind_is_raised, nobody_raises_the_fence_of_another, only_what_was_seen_is_broken,
            a_cooling_can_be_broken,
        );
    };
    (@each $world:path: $($name:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $name() -> anyhow::Result<()> {
                $crate::conformance::lock::$name(&$world().await?).await
            }
        )*
    };
    (@in_turn $test:ident $stand:path: $($name:ident),* $(,)?) => {
        #[tokio::test]
        async fn $test() -> anyhow::Result<()> {
            let stand = $stand().await?;
            $(
                let story = Box::pin(async { $crate::conformance::lock::$name(&stand.world(stringify!($name))?).await });
                anyhow::Context::context(story.await, stringify!($name))?;
            )*
            Ok(())
        }
    };
}
