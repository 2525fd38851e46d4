//! The suite of worker ids and reserved time: docs/spec/id.md as tests.

mod ranges;
mod rig;
pub mod side_by_side;
mod times;
mod witness;
mod workers;

pub use ranges::*;
pub use rig::{Rig, SETTINGS, owner};
pub use times::*;
pub use witness::*;
pub use workers::*;

/// Makes a test of every function of the suite: `id_suite!(rig)`, where `rig` is an async function that returns `anyhow::Result<Rig>`.
#[macro_export]
macro_rules! id_suite {
    ($rig:path) => {
        $crate::id_suite!($rig:
            // workers
            worker_ids_are_distinct_and_bounded, repeated_acquisition_returns_the_same_worker_id,
            lease_counts_from_its_last_extension, extension_requires_the_owner, extension_requires_a_lease,
            released_owner_never_extends, different_settings_are_rejected, scopes_are_independent,
            // times
            first_time_is_reserved_after_the_margin, new_owner_begins_above_all_reserved_time,
            new_owner_begins_above_time_reserved_before_a_clock_step, new_owner_begins_above_time_that_was_forgotten,
            clock_set_back_does_not_stop_reservations, reserved_time_only_grows, clocks_an_hour_apart_reserve_nothing,
            // witness
            witness_refuses_blocks_below_a_used_one, witness_compares_the_largest_numbers,
            // ranges
            range_is_handed_out_until_it_is_used_up, range_below_the_witness_is_refused,
            range_that_is_not_used_up_is_not_replaced, numbers_below_the_least_are_left_out,
            largest_numbers_of_ranges_are_exact,
        );
    };
    ($rig:path: $($name:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $name() -> anyhow::Result<()> {
                $crate::conformance::id::$name(&$rig().await?).await
            }
        )*
    };
}
