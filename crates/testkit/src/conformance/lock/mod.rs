//! The suite of locks: docs/spec/lock.md as tests. L-numbers are bugs met elsewhere.

mod acquire;
mod operate;
mod release;
mod renew;
mod rig;
mod rows;
pub mod side_by_side;

pub use acquire::*;
pub use operate::*;
pub use release::*;
pub use renew::*;
pub use rig::{LEASE_MS, Party, Rig};
pub use rows::Rows;

/// Makes a test of every function of the suite: `lock_suite!(rig)`, where `rig` is an async function that returns
/// `anyhow::Result<Rig<_>>`. Where a fresh rig costs much, one test plays all that need no knowledge of waiters:
/// `lock_suite!(name in stand)`, where `stand` is an async function that returns something with a method `rig(&str)`.
#[macro_export]
macro_rules! lock_suite {
    ($rig:path) => {
        $crate::lock_suite!(@common each $rig:
            // whose turn it is
            releasing_process_yields_to_waiters, reserved_turn_expires, release_without_waiters_frees_the_lock_for_all,
            silent_waiter_is_forgotten, called_waiter_that_stays_away_is_not_counted,
            release_can_keep_its_process_waiting, inspect_returns_the_holder,
        );
    };
    ($test:ident in $stand:path) => {
        $crate::lock_suite!(@common in_turn $test $stand:);
    };
    (@common $($suite:tt)*) => {
        $crate::lock_suite!(@$($suite)*
            // acquire
            free_lock_is_granted_once, repeated_call_returns_the_same_reply, fences_rise_within_one_millisecond,
            fence_is_at_least_the_server_time, new_fence_exceeds_the_fence_seen_by_sql, expired_lock_is_free,
            expired_lease_starts_the_lock_delay, clock_set_back_does_not_extend_a_lease, invalid_arguments_are_rejected,
            // renew
            renewed_lease_counts_from_the_renewal, renewal_requires_the_owner, renewal_never_creates_a_lock,
            renewal_during_the_lock_delay_is_rejected, renewals_end_at_max_hold, max_hold_below_the_ttl_bounds_the_lease,
            // release
            repeated_release_finds_nothing, late_release_does_not_free_the_next_holder, late_release_does_not_end_the_lock_delay,
            release_starts_no_lock_delay,
            // operate
            raise_lifts_a_fence_that_fell_behind, raise_requires_the_owner, break_affects_only_the_inspected_holder,
            break_ends_the_lock_delay,
        );
    };
    (@each $rig:path: $($name:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $name() -> anyhow::Result<()> {
                $crate::conformance::lock::$name(&$rig().await?).await
            }
        )*
    };
    (@in_turn $test:ident $stand:path: $($name:ident),* $(,)?) => {
        #[tokio::test]
        async fn $test() -> anyhow::Result<()> {
            let stand = $stand().await?;
            $(
                let story = Box::pin(async { $crate::conformance::lock::$name(&stand.rig(stringify!($name))?).await });
                anyhow::Context::context(story.await, stringify!($name))?;
            )*
            Ok(())
        }
    };
}
