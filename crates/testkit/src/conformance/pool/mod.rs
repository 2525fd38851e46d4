//! The suite of pools, which read/write locks and semaphores stand on: docs/spec/lock.md, said as tests. L-numbers are bugs met
//! elsewhere.

mod fences;
mod leases;
mod operate;
mod permits;
mod readers;
pub mod side_by_side;
mod turns;
mod world;

pub use fences::*;
pub use leases::*;
pub use operate::*;
pub use permits::*;
pub use readers::*;
pub use turns::*;
pub use world::{PERMITS, World, owner, permits, reader, waiting, writer};

/// Makes a test of every function of the suite: `pool_suite!(world)`, where `world` is an async function that answers
/// `anyhow::Result<World<_>>`.
#[macro_export]
macro_rules! pool_suite {
    ($world:path) => {
        $crate::pool_suite!($world:
            // readers
            readers_share_and_a_writer_is_alone, a_writer_keeps_readers_out, a_reader_that_died_is_out_after_its_lease,
            each_reader_has_a_lease_of_its_own, a_repeated_question_is_answered_the_same,
            // permits
            no_more_than_there_are, several_permits_are_taken_together, a_release_gives_back_its_own_only,
            another_number_of_permits_is_refused, a_number_is_changed_explicitly, what_no_pool_can_do_is_refused,
            // leases
            a_shared_lease_counts_from_its_renewal, nobody_renews_what_is_not_held, a_shared_lease_ends_at_its_limit,
            a_pools_clock_set_back_prolongs_nothing, a_lease_that_is_over_is_not_given_back,
            // turns
            a_waiting_writer_keeps_later_readers_back, a_writer_lets_readers_pass_after_its_turn,
            permits_come_in_the_order_of_asking, room_is_kept_for_those_before, who_leaves_the_queue_keeps_nobody_back,
            a_silent_place_is_forgotten, a_place_is_kept_while_its_owner_asks,
            // fences
            readers_share_a_fence, a_writers_fence_is_above_all, shared_fences_rise_within_one_millisecond,
            a_shared_fence_is_as_high_as_the_clock, a_shared_fence_is_above_its_floor, a_shared_fence_is_lifted_once,
            nobody_lifts_the_fence_without_holding, permits_have_no_fence,
            // operate
            who_looks_sees_all_holders, only_the_named_holder_is_broken, all_holders_are_broken, pools_of_two_kinds_are_apart,
        );
    };
    ($world:path: $($name:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $name() -> anyhow::Result<()> {
                $crate::conformance::pool::$name(&$world().await?).await
            }
        )*
    };
}
