//! The suite of pools, the basis of read/write locks and semaphores: docs/spec/lock.md as tests. L-numbers are bugs met
//! elsewhere.

mod fences;
mod leases;
mod operate;
mod permits;
mod readers;
mod rig;
pub mod side_by_side;
mod turns;

pub use fences::*;
pub use leases::*;
pub use operate::*;
pub use permits::*;
pub use readers::*;
pub use rig::{PERMITS, Rig, owner, permits, polling, reader, waiting, writer};
pub use turns::*;

/// Makes a test of every function of the suite: `pool_suite!(rig)`, where `rig` is an async function that answers
/// `anyhow::Result<Rig<_>>`.
#[macro_export]
macro_rules! pool_suite {
    ($rig:path) => {
        $crate::pool_suite!($rig:
            // readers
            readers_share_and_a_writer_is_exclusive, writer_excludes_readers, dead_reader_is_removed_after_its_lease,
            each_reader_has_its_own_lease, repeated_acquire_returns_the_same_result,
            // permits
            permits_never_exceed_their_number, several_permits_are_granted_together, release_returns_only_its_own_permits,
            different_number_of_permits_is_rejected, resize_changes_the_number_of_permits, invalid_pool_arguments_are_rejected,
            // leases
            shared_lease_counts_from_its_renewal, shared_renewal_requires_a_holder, shared_lease_ends_at_max_hold,
            clock_set_back_does_not_extend_a_pool_lease, release_of_an_expired_lease_finds_nothing,
            // turns
            waiting_writer_blocks_later_readers, waiting_writer_lets_readers_pass_after_its_turn,
            permits_are_granted_in_request_order, permits_are_reserved_for_earlier_waiters, waiter_that_leaves_does_not_block_others,
            silent_waiter_loses_its_place, repeated_request_keeps_its_place_in_the_queue,
            local_waiter_is_served_by_the_time_it_asked, poll_keeps_the_place_until_a_watch_is_due, watch_notifies_the_waiter_with_room,
            // fences
            readers_share_a_fence, writer_fence_exceeds_all_earlier_fences, shared_fences_rise_within_one_millisecond,
            shared_fence_is_at_least_the_server_time, shared_fence_exceeds_its_floor, shared_fence_is_raised_once,
            raise_of_a_shared_fence_requires_a_holder, permits_have_no_fence,
            // operate
            inspect_returns_all_holders, break_removes_only_the_named_holder, break_without_an_owner_removes_all_holders, pools_of_two_kinds_are_independent,
        );
    };
    ($rig:path: $($name:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $name() -> anyhow::Result<()> {
                $crate::conformance::pool::$name(&$rig().await?).await
            }
        )*
    };
}
