//! The connection to Redis breaks while a lock is acquired, held or released.

use crate::lock::side::holds::{is_free, take};
use crate::lock::side::rig::{Rig, TTL, in_time, renewed_alone, until};
use evenkeel::Keel;
use evenkeel::link::LinkState;
use evenkeel::lock::{LockError, LossReason, ReleaseOutcome, Wait};
use std::time::Duration;
use testkit::proxy::{Direction, Proxy};
use testkit::servers::{Redis, RedisOptions};
use testkit::step_command;
use testkit::{CommandTrace, eventually};

/// A rig on Redis, and a process that reaches it over a proxy.
async fn rig() -> (Rig, Proxy, Keel) {
    let rig = Rig::redis().await;
    let proxy = Proxy::start(rig.port(), 1).await.unwrap();
    let keel = rig.process_through(|url| proxy.url(url)).await;
    (rig, proxy, keel)
}

/// (L2) A copied implementation lacked the local deadline: a disconnected holder never detected the loss.
// shows: K3, hazard L2, lock::Guard
#[tokio::test]
async fn disconnected_holder_loses_its_lock_at_the_deadline() {
    in_time(async {
        let (rig, proxy, one) = rig().await;
        let two = rig.process().await;
        let guard = take(&one).await;
        proxy.refuse(true).await.unwrap();
        proxy.cut();
        rig.pass(TTL - Duration::from_secs(1)).await;
        assert!(!guard.is_lost(), "unknown is not lost");
        rig.pass(Duration::from_secs(1)).await;
        assert_eq!(guard.lost().await.reason, LossReason::Expired);
        assert!(two.lock("stock/42").try_acquire().await.unwrap().is_some(), "not before the next may have it");
    })
    .await;
}

/// A lock survives an outage that is shorter than its lease.
// shows: K4
#[tokio::test]
async fn holder_survives_an_outage_shorter_than_its_lease() {
    in_time(async {
        let (rig, proxy, one) = rig().await;
        let guard = take(&one).await;
        proxy.refuse(true).await.unwrap();
        proxy.cut();
        rig.pass(TTL / 2).await;
        proxy.refuse(false).await.unwrap();
        let mut state = one.link().unwrap().state();
        state.wait_for(|state| matches!(state, LinkState::Up { epoch: 2.. })).await.unwrap();
        rig.pass(TTL).await;
        assert!(!guard.is_lost());
        assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::Released);
    })
    .await;
}

/// (L3) The lease counted from the reply: after a slow reply the holder counted on the lock for longer than the server did.
// shows: K3, hazard L3
#[tokio::test]
async fn lease_counts_from_the_request() {
    in_time(async {
        let (rig, proxy, one) = rig().await;
        let guard = take(&one).await;
        let mut hold = proxy.hold(Direction::ToClient, step_command());
        rig.advance(TTL / 3).await;
        hold.reached().await.unwrap();
        // Renewed ten seconds ago by now, and not answered yet.
        rig.advance(TTL / 3).await;
        drop(hold);
        until(async || guard.remaining() > TTL / 3).await;
        assert_eq!(guard.remaining(), TTL - TTL / 3);
    })
    .await;
}

/// (etcd #11456, redlock #369) A lock was handed out whose lease had ended while its answer was on its way.
// shows: K3, hazard L3
#[tokio::test]
async fn grant_that_arrives_after_its_lease_is_discarded() {
    in_time(async {
        let (rig, proxy, one) = rig().await;
        // The first script in this direction is sent anew; then it is the acquisition's turn.
        drop(one.lock("other").acquire().await.unwrap());
        let mut hold = proxy.hold(Direction::ToClient, step_command());
        let lock = one.lock("stock/42").ttl(TTL).wait(Wait::No);
        let asked = tokio::spawn(async move { lock.try_acquire().await });
        hold.reached().await.unwrap();
        rig.advance_processes(TTL);
        drop(hold);
        assert!(asked.await.unwrap().unwrap().is_none());
        let two = rig.process().await;
        until(async || is_free(&two).await).await;
    })
    .await;
}

/// (L6) The server had accepted the command, its reply was in flight, and the caller was dropped.
// shows: K5, hazard L6, lock::LockBuilder::acquire, lock::ExclusiveLocks::acquire
#[tokio::test]
async fn acquire_dropped_before_its_reply_leaves_nothing() {
    in_time(async {
        let (rig, proxy, one) = rig().await;
        let two = rig.process().await;
        drop(one.lock("other").acquire().await.unwrap());
        let mut hold = proxy.hold(Direction::ToClient, step_command());
        let asked = tokio::spawn(one.lock("stock/42").ttl(TTL).acquire());
        hold.reached().await.unwrap();
        until(async || !is_free(&two).await).await;
        asked.abort();
        assert!(asked.await.unwrap_err().is_cancelled());
        drop(hold);
        until(async || is_free(&two).await).await;
    })
    .await;
}

/// (L10) A client subscribed after its attempt had failed, and missed a release in between.
// shows: K6, hazard L10
#[tokio::test]
async fn release_before_the_subscription_wakes_the_waiter() {
    in_time(async {
        let (rig, proxy, one) = rig().await;
        let two = rig.process().await;
        let guard = take(&two).await;
        let mut hold = proxy.hold(Direction::ToServer, "SSUBSCRIBE");
        let asked = tokio::spawn(one.lock("stock/42").ttl(TTL).wait(Wait::Forever).acquire());
        hold.reached().await.unwrap();
        guard.release().await.unwrap();
        drop(hold);
        // Time is frozen: no timer wakes it.
        assert!(!asked.await.unwrap().unwrap().is_lost());
    })
    .await;
}

/// A lost reply to a release: this call cannot be distinguished from an expiry, and the result says so.
// shows: K5, hazard L13, lock::Guard::release, lock::ExclusiveGuard::release, lock::Permits::release
// shows: lock::AdvisoryGuard::release
#[tokio::test]
async fn release_without_a_reply_is_unconfirmed() {
    in_time(async {
        let (rig, proxy, one) = rig().await;
        let two = rig.process().await;
        let guard = take(&one).await;
        let mut hold = proxy.hold(Direction::ToClient, step_command());
        let released = tokio::spawn(guard.release());
        hold.reached().await.unwrap();
        assert!(is_free(&two).await);
        let mut state = one.link().unwrap().state();
        proxy.cut();
        drop(hold);
        // The second try waits for the test's clock, the new connection does not.
        state.wait_for(|state| matches!(state, LinkState::Up { epoch: 2.. })).await.unwrap();
        assert_eq!(rig.while_time_passes(released).await.unwrap().unwrap(), ReleaseOutcome::Unconfirmed);
    })
    .await;
}

/// (L8) Every error was retried forever, even when all nodes were unreachable.
// shows: hazard L8, lock::LockBuilder::acquire, lock::LockBuilder::try_acquire, lock::ExclusiveLocks::try_acquire
#[tokio::test]
async fn acquire_reports_an_unreachable_redis() {
    in_time(async {
        let (rig, proxy, one) = rig().await;
        proxy.refuse(true).await.unwrap();
        proxy.cut();
        let failed = rig.while_time_passes(Box::pin(one.lock("stock/42").wait(Wait::Forever).acquire())).await;
        assert!(matches!(&failed, Err(LockError::Link(error)) if error.is_retryable()), "{failed:?}");
        proxy.refuse(false).await.unwrap();
    })
    .await;
}

/// The connection ends before Redis has received the call, again and again.
// shows: lock::LockBuilder::acquire, lock::LockBuilder::try_acquire, lock::ExclusiveLocks::try_acquire
#[tokio::test]
async fn acquire_fails_after_three_unanswered_attempts() {
    in_time(async {
        for kind in ["lock", "reader", "permit"] {
            let (rig, proxy, one) = rig().await;
            let mut state = one.link().unwrap().state();
            let mut hold = proxy.hold(Direction::ToServer, step_command());
            let keel = one.clone();
            let asked = tokio::spawn(async move {
                match kind {
                    "lock" => keel.lock("stock/42").wait(Wait::Forever).acquire().await.map(drop),
                    "reader" => keel.rw_lock("stock/42").read().wait(Wait::Forever).acquire().await.map(drop),
                    _ => keel.semaphore("stock/42", 3).take(1).wait(Wait::Forever).acquire().await.map(drop),
                }
            });
            for attempt in 1..=3_u64 {
                rig.while_time_passes(hold.reached()).await.unwrap();
                assert!(!asked.is_finished(), "{kind}: {attempt}");
                // A fourth attempt would be held for as long as the test runs.
                let next = proxy.hold(Direction::ToServer, step_command());
                proxy.cut();
                drop(std::mem::replace(&mut hold, next));
                // An attempt without a connection would count. The next one waits for the test's clock, the new connection does not.
                state.wait_for(|state| matches!(state, LinkState::Up { epoch } if *epoch > attempt)).await.unwrap();
            }
            let failed = rig.while_time_passes(asked).await.unwrap();
            assert!(matches!(&failed, Err(LockError::Link(error)) if error.is_retryable()), "{kind}: {failed:?}");
        }
    })
    .await;
}

/// Two seconds became four: each try had the link's own timeout.
// shows: hazard AL4
#[tokio::test]
async fn wait_ends_on_time_while_redis_hangs() {
    in_time(async {
        let (rig, proxy, one) = rig().await;
        drop(one.lock("other").acquire().await.unwrap());
        let mut hold = proxy.hold(Direction::ToClient, step_command());
        let asked = tokio::spawn(one.lock("stock/42").wait(Duration::from_secs(2)).acquire());
        hold.reached().await.unwrap();
        // On the test's clock, on which the link has no timeouts.
        rig.advance_processes(Duration::from_secs(2));
        let error = asked.await.unwrap().unwrap_err();
        assert!(error.is_retryable() && error.outcome_unknown(), "{error}");
        drop(hold);
        let two = rig.process().await;
        until(async || is_free(&two).await).await;
    })
    .await;
}

/// The keel is gone before its reaper could send anything.
// shows: K5, hazard AL1
#[tokio::test]
async fn lock_dropped_with_its_keel_is_released() {
    in_time(async {
        let rig = Rig::redis().await;
        let (one, two) = (rig.process().await, rig.process().await);
        let guard = take(&one).await;
        drop(guard);
        drop(one);
        until(async || is_free(&two).await).await;
    })
    .await;
}

/// Releases still pending when the keel is gone are sent once more, and the task that sends them does not end with the keel.
// shows: K5, hazard AL1
#[tokio::test]
async fn lost_release_is_repeated_after_the_keel_is_dropped() {
    in_time(async {
        let (rig, proxy, one) = rig().await;
        let two = rig.process().await;
        let guard = take(&one).await;
        let mut hold = proxy.hold(Direction::ToServer, step_command());
        drop(guard);
        hold.reached().await.unwrap();
        proxy.cut();
        drop(hold);
        let mut state = one.link().unwrap().state();
        state.wait_for(|state| matches!(state, LinkState::Up { epoch: 2.. })).await.unwrap();
        assert!(!is_free(&two).await, "the first attempt never arrived");
        drop((state, one));
        // A task that ended with the keel would have ended by now.
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        // The pause between attempts is over; the lease, by the store's time, is not.
        until(async || {
            rig.advance_processes(Duration::from_millis(20));
            is_free(&two).await
        })
        .await;
    })
    .await;
}

/// (L1) The guard was dropped while a renewal was on its way there, or its answer on its way back.
// shows: K4, lock::Guard::release, lock::ExclusiveGuard::release, lock::Permits::release, lock::AdvisoryGuard::release
#[tokio::test]
async fn release_is_sent_after_the_renewal_in_flight() {
    in_time(async {
        let (rig, proxy, one) = rig().await;
        let two = rig.process().await;
        for direction in [Direction::ToServer, Direction::ToClient] {
            let guard = take(&one).await;
            let mut hold = proxy.hold(direction, step_command());
            rig.advance(TTL / 3).await;
            hold.reached().await.unwrap();
            drop(guard);
            drop(hold);
            until(async || is_free(&two).await).await;
            one.lock("other").ttl(TTL).acquire().await.unwrap().release().await.unwrap();
            assert!(is_free(&two).await, "whatever was on its way has arrived");
        }
    })
    .await;
}

/// (L1) A watchdog outlived its lock: it was armed after the release and renewed a key without a holder forever.
// shows: K4, hazard L1, lock::Guard::release, lock::ExclusiveGuard::release, lock::Permits::release
// shows: lock::AdvisoryGuard::release
#[tokio::test]
async fn no_renewal_is_sent_after_release() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let keel = Keel::connect(&redis.url()).await.unwrap();
    // Renewed every 20 ms, so that a renewal is on its way at about every moment.
    let ttl = Duration::from_millis(60);
    for round in 0..40 {
        let guard = keel.lock(&format!("stock/{round}")).ttl(ttl).acquire().await.unwrap();
        if round % 2 == 0 {
            guard.release().await.unwrap();
        } else {
            drop(guard);
        }
    }
    let free = async || keel.locks_held().await.unwrap().is_empty().then_some(());
    eventually("all are free", free).await.unwrap();
    let long = keel.lock("long").ttl(ttl * 100).acquire().await.unwrap();
    let other = keel.lock("renewed").ttl(ttl).acquire().await.unwrap();
    // From now on: the acquisition itself must not be taken for a renewal.
    let mut trace = CommandTrace::start(&redis).await.unwrap();
    renewed_alone(&mut trace, &redis, "renewed", "stock/").await;
    drop((long, other));
}
