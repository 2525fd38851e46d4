//! A program finds the recovery of another one unfinished.

use super::shop::{consumer, place, process, relay};
use crate::sql::databases::{TestDatabase, Tested};
use crate::stream::side::rig::{Desk, Rig, open};
use evenkeel::stream::EntryId;
use std::sync::Arc;

on_redis_and_each_database! {
    unfinished_recovery_is_begun_again_under_the_same_lease
}

/// The values, fences and ids of the next two entries, which are done at once.
async fn two(desk: &Arc<Desk>) -> ([String; 2], [u64; 2], [EntryId; 2]) {
    let mut seen = Vec::new();
    for _ in 0..2 {
        let case = desk.next().await;
        seen.push((case.entry.value.clone(), case.entry.fence, case.entry.id));
        case.done();
    }
    let [one, two] = <[_; 2]>::try_from(seen).unwrap();
    ([one.0, two.0], [one.1, two.1], [one.2, two.2])
}

/// A recovery has raised the incarnation in the database, and has not written it to Redis yet; entries are sent and handled meanwhile. A program
/// that looks then cannot know that Redis has lost nothing since. It sends them again: into the same log, under ids of their own, where one
/// lease delivers them a second time, in their order. (A test of killed processes took the two for one that was delivered twice.)
// shows: T7
async fn unfinished_recovery_is_begun_again_under_the_same_lease<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let shop = process(&rig, &database).await;
    database.run("UPDATE evenkeel_streams SET incarnation = incarnation + 1").await;
    place(&shop, &database, "a", &["1", "2"]).await;
    relay(&shop, &database).await;
    let desk = Desk::new();
    let office = open(consumer(&desk, &shop.1, "billing"));
    let before = two(&desk).await;
    let other = process(&rig, &database).await;
    assert_eq!(other.1.admin().losses(10).await.unwrap()[0].sent_again, 2);
    relay(&other, &database).await;
    let after = two(&desk).await;
    assert_eq!((&before.0, before.1), (&after.0, after.1), "the same entries, under the same fence");
    assert!(before.2.iter().max() < after.2.iter().min(), "{:?} and {:?}", before.2, after.2);
    office.close().await;
}
