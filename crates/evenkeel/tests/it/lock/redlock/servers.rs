//! Real servers that stop, restart empty, or stop responding.

use super::fleet::NAME;
use crate::lock::side::rig::{in_time, until};
use evenkeel::lock::{LockError, LockName, LossReason, Redlock, RedlockBuilder, ReleaseOutcome, Wait};
use evenkeel::testing::TestClock;
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};
use testkit::{CommandTrace, eventually};

/// Short, because the tests wait for its end.
const SHORT: Duration = Duration::from_millis(900);

async fn three() -> Vec<Redis> {
    let start = || Redis::start(RedisOptions::new());
    let (one, two, three) = tokio::try_join!(start(), start(), start()).unwrap();
    vec![one, two, three]
}

async fn connect(servers: &[Redis], builder: &RedlockBuilder) -> Redlock {
    let urls: Vec<String> = servers.iter().map(Redis::url).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    builder.connect(&urls).await.unwrap()
}

/// Long enough for a server on a busy machine.
fn with_long_timeout() -> RedlockBuilder {
    Redlock::builder().node_timeout(Duration::from_secs(5))
}

async fn is_free_everywhere(redlock: &Redlock) -> bool {
    redlock.held_on(&LockName::new(NAME).unwrap()).await == [false; 3]
}

#[tokio::test]
async fn one_server_down_does_not_affect_the_lock() {
    Box::pin(in_time(async {
        let mut servers = three().await;
        let (one, two) = (connect(&servers, &with_long_timeout()).await, connect(&servers, &with_long_timeout()).await);
        let held = one.lock(NAME).acquire().await.unwrap();
        servers[1].kill().unwrap();
        let lock = two.lock(NAME).wait(Wait::Forever);
        let next = tokio::spawn(async move { lock.acquire().await.unwrap() });
        let fence = held.fence();
        assert_eq!(held.release().await.unwrap(), ReleaseOutcome::Released);
        let next = next.await.unwrap();
        assert!(next.fence() > fence);
        assert_eq!(next.release().await.unwrap(), ReleaseOutcome::Released);
        assert!(one.lock(NAME).acquire().await.is_ok());
        // A contender that arrives during its outage reaches the others.
        assert!(connect(&servers, &with_long_timeout()).await.lock("other").acquire().await.is_ok());
    }))
    .await;
}

// shows: K3, lock::Redlock::connect, lock::RedlockBuilder::connect, lock::RedlockBuilder::connect_with
// shows: lock::Redlock::memory, lock::RedlockBuilder::memory
#[tokio::test]
async fn lost_majority_rejects_acquires_and_ends_holds() {
    Box::pin(in_time(async {
        let mut servers = three().await;
        let redlock = connect(&servers, &with_long_timeout()).await;
        let held = redlock.lock(NAME).ttl(SHORT).acquire().await.unwrap();
        servers[0].kill().unwrap();
        servers[2].kill().unwrap();
        let refused = redlock.lock("other").wait(Wait::Forever).acquire().await;
        assert!(matches!(&refused, Err(error @ LockError::NoQuorum { .. }) if error.is_retryable()), "{refused:?}");
        assert_eq!(held.lost().await.reason, LossReason::Expired);
        let urls: Vec<String> = servers.iter().map(Redis::url).collect();
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        assert!(matches!(Redlock::connect(&urls).await, Err(LockError::NoQuorum { taking_part: 1, .. })));
    }))
    .await;
}

/// A server that stopped responding, with its connections open, delayed every caller until its timeout.
// shows: K5
#[tokio::test]
async fn unresponsive_server_does_not_delay_the_lock() {
    Box::pin(in_time(async {
        let mut servers = three().await;
        // No timeout ends here: time is frozen.
        let clock = TestClock::default();
        let builder = Redlock::builder().clock(clock.clock());
        let (one, two) = (connect(&servers, &builder).await, connect(&servers, &builder).await);
        servers[1].pause().unwrap();
        for redlock in [&one, &two, &one] {
            let guard = redlock.lock(NAME).acquire().await.unwrap();
            assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::Released);
        }
        let last = two.lock(NAME).acquire().await.unwrap();
        assert!(
            tokio::time::timeout(Duration::from_secs(10), one.lock(NAME).try_acquire())
                .await
                .unwrap()
                .unwrap()
                .is_none()
        );
        drop(last);
        servers[1].resume().unwrap();
        // The server executes the commands it was sent meanwhile in their order, or gets them again: none remains.
        until(async || {
            clock.advance(Duration::from_millis(100));
            is_free_everywhere(&one).await
        })
        .await;
    }))
    .await;
}

/// Three servers, one away when the lock was acquired; one of the two others is started again empty. It and the one that was away
/// would be a majority.
// shows: K3
#[tokio::test]
async fn restarted_server_grants_no_held_lock() {
    Box::pin(in_time(async {
        let mut servers = three().await;
        let builder = with_long_timeout().ttl_max(SHORT);
        let founder = connect(&servers, &builder).await;
        servers[2].kill().unwrap();
        let holder = connect(&servers, &builder).await;
        let guard = holder.lock(NAME).ttl(SHORT).acquire().await.unwrap();
        servers[1].restart().await.unwrap();
        servers[2].restart().await.unwrap();
        let next = eventually("the next holder", || async {
            founder.lock(NAME).ttl(SHORT).try_acquire().await.ok().flatten()
        })
        .await
        .unwrap();
        assert!(guard.is_lost(), "the first holder has detected the loss by then");
        assert!(next.fence() > guard.fence());
    }))
    .await;
}

/// (L1) A watchdog renewed a lock after its release.
// shows: K4
#[tokio::test]
async fn no_renewal_is_sent_after_release() {
    let servers = three().await;
    let redlock = connect(&servers, &with_long_timeout()).await;
    // Renewed every 30 ms, so that a renewal is on its way at about every moment.
    let ttl = Duration::from_millis(90);
    for round in 0..20 {
        let guard = redlock.lock(&format!("stock/{round}")).ttl(ttl).acquire().await.unwrap();
        if round % 2 == 0 {
            guard.release().await.unwrap();
        } else {
            drop(guard);
        }
    }
    let free = async || redlock.locks_held().await.unwrap().is_empty().then_some(());
    eventually("all are free", free).await.unwrap();
    let mut trace = CommandTrace::start(&servers[0]).await.unwrap();
    let other = redlock.lock("renewed").ttl(ttl).acquire().await.unwrap();
    Box::pin(in_time(async {
        // Until a lock that is held was renewed: by then every renewal of the others would have come, too.
        let mut renewals = 0;
        while renewals < 2 {
            let seen = trace.take(&servers[0]).await.unwrap().from_clients();
            let on = |name: &str| {
                let names =
                    |command: &&testkit::TracedCommand| command.arguments.iter().any(|word| word.contains(name));
                seen.0.iter().filter(names).count()
            };
            assert_eq!(on("stock/"), 0, "{seen:?}");
            renewals += on("renewed");
        }
    }))
    .await;
    drop(other);
}
