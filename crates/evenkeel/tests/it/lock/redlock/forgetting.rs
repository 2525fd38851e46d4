//! Servers that were restarted without their data, or flushed.

use super::fleet::{Fleet, NAME, SIT_OUT, TTL, held_on, take};
use crate::lock::side::rig::until;
use evenkeel::lock::{Fence, LockError};
use std::time::Duration;

on_both! {
    empty_server_grants_no_lock_until_leases_end
    fences_rise_though_every_server_forgets_in_turn
    renewal_restores_the_lock_on_an_empty_server
}

/// The holder has all three servers; two of them, a majority, are restarted empty.
// shows: hazard L9, lock::Redlock
async fn empty_server_grants_no_lock_until_leases_end(fleet: Fleet) {
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

/// A server that lost its data is given a fence floor instead of its locks: otherwise, once each server has lost its data in turn,
/// no server knows how high the fences were.
// shows: K2, lock::Redlock
async fn fences_rise_though_every_server_forgets_in_turn(fleet: Fleet) {
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

/// A majority is lost unless the held locks are written back to restarted servers: three servers, then two, then one.
// shows: hazard L9, spec/lock.md
async fn renewal_restores_the_lock_on_an_empty_server(fleet: Fleet) {
    let (one, two) = (fleet.process().await, fleet.process().await);
    let guard = take(&one).await;
    until(async || held_on(&two).await == [true; 3]).await;
    fleet.forget(2).await;
    // Its renewals notice that, and restore the lock once the server takes part again.
    fleet.while_time_passes(Box::pin(until(async || held_on(&two).await == [true; 3]))).await;
    fleet.forget(0).await;
    fleet.pass(TTL + Duration::from_secs(1)).await;
    assert!(!guard.is_lost());
    assert!(!matches!(two.lock(NAME).ttl(TTL).try_acquire().await, Ok(Some(_))));
    guard.release().await.unwrap();
    until(async || held_on(&two).await == [false; 3]).await;
}
