//! Ids: the protocol on Redis, its agreement with the model, and the user's side.

mod extremes;
mod failures;
mod foreign;
mod histories;
mod ranges;
mod scripts;
mod segments;
mod side_by_side;
mod soak;
mod stories;
mod threads;

use crate::rig::Fleet;
use evenkeel::Keel;
use evenkeel::id::{Id, Layout, Snowflake, SnowflakeBuilder};
use std::time::Duration;

/// The reserved time and the margin of the stories: those by default.
const AHEAD: Duration = Duration::from_secs(3);
const MARGIN: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_secs(30);
const MS: Duration = Duration::from_millis(1);

/// Before the time of the stories.
const EPOCH_MS: u64 = 1_600_000_000_000;

/// Four ids per millisecond, and so many worker ids.
fn narrow(worker_bits: u8) -> Layout {
    Layout::new(41, worker_bits, 2).epoch_ms(EPOCH_MS)
}

fn wide() -> Layout {
    Layout::default().epoch_ms(EPOCH_MS)
}

fn builder(keel: &Keel, layout: Layout) -> SnowflakeBuilder {
    keel.snowflake("orders").layout(layout)
}

/// Lets the margin of a new generator pass, and reserves all of `AHEAD`. Meanwhile the others keep their leases.
async fn begin(fleet: &Fleet, ids: &Snowflake) {
    fleet.advance(AHEAD + MARGIN).await;
    ids.extend_once().await.unwrap();
    // The time that passed has woken the background loop, which waited for the first call to end: its own is over when the second one is. So
    // nothing is under way that would renew the lease after a pause that the test begins now.
    ids.extend_once().await.unwrap();
}

/// A generator with reserved time.
async fn begun(fleet: &Fleet, keel: &Keel, layout: Layout) -> Snowflake {
    let ids = builder(keel, layout).build().await.unwrap();
    begin(fleet, &ids).await;
    ids
}

/// At most so many ids that are reserved, and never more than a generator of the stories has.
fn take(ids: &Snowflake, most: usize) -> Vec<Id> {
    std::iter::from_fn(|| ids.try_next()).take(most.min(20_000)).collect()
}

/// All ids differ.
fn assert_distinct(mut all: Vec<Id>) {
    let count = all.len();
    all.sort_unstable();
    let doubled = all.windows(2).find(|pair| pair[0] == pair[1]);
    assert!(doubled.is_none(), "{doubled:?} of {count} ids");
}
