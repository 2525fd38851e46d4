//! The suite of limits: docs/spec/limit.md as tests.

mod clock;
pub mod ledger;
mod levels;
mod quotas;
mod rates;
mod rig;
pub mod side_by_side;
mod waits;
mod windows;

pub use clock::*;
pub use levels::*;
pub use quotas::*;
pub use rates::*;
pub use rig::{Rig, rate, window};
pub use waits::*;
pub use windows::*;

/// Makes a test of every function of the suite: `limit_suite!(rig)`, where `rig` is an async function that answers
/// `anyhow::Result<Rig>`.
#[macro_export]
macro_rules! limit_suite {
    ($rig:path) => {
        $crate::limit_suite!($rig:
            // rates
            burst_is_admitted_at_once_and_then_the_rate, rate_loses_no_token_to_rounding, pause_refills_no_more_than_the_burst,
            call_of_many_tokens_gets_all_or_none, fast_rate_refills_many_tokens_a_millisecond, invalid_debits_are_rejected,
            // windows
            interval_between_slots_admits_no_more_than_the_window, window_admits_again_after_eleven_slots, window_counts_each_slot_by_itself,
            // waits
            reservations_are_served_in_their_order, refused_reservation_takes_no_tokens, reservation_in_a_window_is_not_overtaken,
            // levels
            refused_call_takes_tokens_of_no_level, refusal_names_the_level_with_the_longest_wait, levels_are_debited_for_the_time_of_execution,
            subjects_nest, remaining_is_that_of_the_smallest_level,
            // clock
            clock_set_back_keeps_the_debt_of_a_rate, refusal_stores_a_clock_that_was_set_back, clock_set_back_moves_a_window_back,
            instances_are_counted_for_a_minute, instances_from_the_future_are_forgotten,
            // quotas
            changed_rate_keeps_the_debt_in_tokens, changed_window_keeps_its_tokens, rate_and_window_of_a_level_are_independent,
        );
    };
    ($rig:path: $($name:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $name() -> anyhow::Result<()> {
                $crate::conformance::limit::$name(&$rig().await?).await
            }
        )*
    };
}
