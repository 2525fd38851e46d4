//! The suite of all exclusive locks, on every backend: [`ExclusiveLocks`](evenkeel::lock::ExclusiveLocks) as tests.
//! L-numbers are bugs met elsewhere. A backend implements [`Fleet`]; those of the library are in `fleets`.

mod cancel;
mod expiry;
mod fleet;
mod fleets;
mod hold;
mod redlock;
mod sql;

pub use cancel::*;
pub use expiry::*;
pub use fleet::{Fleet, LONG, until};
pub use fleets::{MemoryFleet, RedisFleet};
pub use hold::*;
pub use redlock::RedlockFleet;
pub use sql::{Served, SqlFleet};

/// Plays the whole suite on one backend, story after story: `exclusive_suite!(name in fleet)`, where `fleet` is an async function that
/// answers `anyhow::Result<impl Fleet>`.
#[macro_export]
macro_rules! exclusive_suite {
    ($test:ident in $fleet:path) => {
        $crate::exclusive_suite!($test in $fleet:
            one_holder_at_a_time, held_lock_is_rejected_with_its_remaining_time, fences_rise_if_supported,
            release_wakes_the_waiter, guard_is_renewed_while_held,
            holder_detects_its_expired_lease, late_release_does_not_free_the_next_holder,
            late_renewal_does_not_revive_a_lost_lock, killed_connection_ends_only_connection_locks,
            dropped_acquire_leaves_nothing, dropped_waiting_acquire_leaves_nothing,
            dropped_release_completes, guard_drop_needs_no_runtime,
        );
    };
    ($test:ident in $fleet:path: $($story:ident),* $(,)?) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $test() -> anyhow::Result<()> {
            let fleet = $fleet().await?;
            $(
                let story = Box::pin($crate::conformance::exclusive::$story(&fleet, stringify!($story)));
                let reported = tokio::time::timeout(std::time::Duration::from_secs(40), story).await;
                let reported = anyhow::Context::context(reported, concat!("timed out: ", stringify!($story)))?;
                anyhow::Context::context(reported, stringify!($story))?;
            )*
            Ok(())
        }
    };
}
