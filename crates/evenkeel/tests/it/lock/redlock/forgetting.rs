//! Servers that were started again without their data, or flushed.

use super::fleet::{Fleet, NAME, SIT_OUT, TTL, held_on, take};
use crate::lock::side::rig::until;
use evenkeel::lock::{Fence, LockError};
use std::time::Duration;

on_both! {
    a_server_that_forgot_a_lock_does_not_give_it_away
    fences_rise_though_all_servers_forget_one_after_another
    a_holder_comes_back_to_a_server_that_forgot
}

/// The holder has all three servers; two of them are started again empty, and are a majority.
async fn a_server_that_forgot_a_lock_does_not_give_it_away(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    let guard = take(&one).await;
    fleet.forget(1).await;
    fleet.forget(2).await;
    let asked = two.lock(NAME).ttl(TTL).try_acquire();
    let refused = fleet.while_time_passes(Box::pin(asked)).await;
    let is_refused = match &refused {
        Ok(guard) => guard.is_none(),
        Err(error) => matches!(error, LockError::NoQuorum { needed: 2, servers: 3, .. }),
    };
    assert!(is_refused, "{refused:?}");
    two.assemble().await;
    assert!(!guard.is_lost());
    fleet.pass(SIT_OUT).await;
    assert!(guard.is_lost(), "it had one server left");
    two.assemble().await;
    assert!(take(&two).await.fence() > guard.fence());
}

/// (an unsound fence) What a server that forgot is given back is not its locks but a floor: else, once each of them has forgotten,
/// nobody remembers how high the fences were.
async fn fences_rise_though_all_servers_forget_one_after_another(fleet: Fleet) {
    let redlock = fleet.process().await;
    let first = take(&redlock).await;
    let seen = Fence(first.fence().0 + 86_400_000_000);
    first.release().await.unwrap();
    let guard = redlock.lock(NAME).ttl(TTL).fence_above(seen).acquire().await.unwrap();
    let highest = guard.fence();
    assert!(highest > seen);
    guard.release().await.unwrap();
    until(async || held_on(&redlock).await == [false; 3]).await;
    for server in [2, 1, 0] {
        fleet.forget(server).await;
        redlock.assemble().await;
        fleet.pass(SIT_OUT).await;
        assert!(redlock.assemble().await, "all take part");
    }
    assert!(take(&redlock).await.fence() > highest);
}

/// A majority wears out if those that come back do not learn of the locks that are held: three servers, then two, then one.
async fn a_holder_comes_back_to_a_server_that_forgot(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    let guard = take(&one).await;
    until(async || held_on(&two).await == [true; 3]).await;
    fleet.forget(2).await;
    // Its renewals find that out, and bring the lock back once the server takes part again.
    fleet.while_time_passes(Box::pin(until(async || held_on(&two).await == [true; 3]))).await;
    fleet.forget(0).await;
    fleet.pass(TTL + Duration::from_secs(1)).await;
    assert!(!guard.is_lost());
    assert!(!matches!(two.lock(NAME).ttl(TTL).try_acquire().await, Ok(Some(_))));
    guard.release().await.unwrap();
    until(async || held_on(&two).await == [false; 3]).await;
}
