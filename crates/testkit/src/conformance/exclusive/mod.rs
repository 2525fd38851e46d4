//! The suite of everything that locks exclusively, whatever keeps it: [`ExclusiveLocks`](evenkeel::lock::ExclusiveLocks), said as
//! tests. L-numbers are bugs met elsewhere. A backend implements [`Fleet`]; those of the library are in `fleets`.

mod cancel;
mod fleet;
mod fleets;
mod hold;
mod lapse;
mod redlock;
mod sql;

pub use cancel::*;
pub use fleet::{Fleet, LONG, until};
pub use fleets::{MemoryFleet, RedisFleet};
pub use hold::*;
pub use lapse::*;
pub use redlock::RedlockFleet;
pub use sql::{Served, SqlFleet};

/// Plays the whole suite on one backend, story after story: `exclusive_suite!(name in fleet)`, where `fleet` is an async function that
/// answers `anyhow::Result<impl Fleet>`.
#[macro_export]
macro_rules! exclusive_suite {
    ($test:ident in $fleet:path) => {
        $crate::exclusive_suite!($test in $fleet:
            one_holder_at_a_time, a_lock_that_is_held_is_refused, fences_rise_where_there_are_any,
            who_waits_is_woken, a_guard_is_renewed_while_it_lives,
            a_lapse_is_told_to_its_holder, a_late_release_leaves_the_next_holder_alone,
            what_was_lost_is_not_renewed_back, a_connection_that_is_killed,
            an_acquire_that_is_dropped_leaves_nothing, an_acquire_that_is_dropped_while_it_waits_leaves_nothing,
            a_release_that_is_dropped_is_done_nevertheless, a_guard_needs_no_runtime_to_be_dropped,
        );
    };
    ($test:ident in $fleet:path: $($story:ident),* $(,)?) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $test() -> anyhow::Result<()> {
            let fleet = $fleet().await?;
            $(
                let story = Box::pin($crate::conformance::exclusive::$story(&fleet, stringify!($story)));
                let told = tokio::time::timeout(std::time::Duration::from_secs(40), story).await;
                let told = anyhow::Context::context(told, concat!("stands still: ", stringify!($story)))?;
                anyhow::Context::context(told, stringify!($story))?;
            )*
            Ok(())
        }
    };
}
