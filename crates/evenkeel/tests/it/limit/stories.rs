//! Limits as programs use them, on the embedded store and on Redis.

use crate::rig::Fleet;
use evenkeel::Keel;
use evenkeel::limit::{DecidedBy, Decision, Limit, Rate, Refused, Window, WithoutRedis};
use evenkeel::testing::TestClock;
use std::time::Duration;
use testkit::CommandTrace;
use testkit::servers::{Redis, RedisOptions};

on_both_with! { crate::rig::Fleet:
    instances_share_a_limit
    refusal_names_its_level_and_its_time
    acquire_returns_when_its_time_has_come
    acquire_refuses_a_longer_wait_at_once
    call_for_many_tokens_gets_all_or_none
    limits_of_different_names_are_independent
}

const SECOND: Duration = Duration::from_secs(1);

async fn opened(keel: &Keel, rate: Rate) -> Limit {
    keel.limit("api").level("tenant", rate).without_redis(WithoutRedis::Closed).open().await.unwrap()
}

pub(super) fn refused(decision: Decision) -> Refused {
    match decision {
        Decision::Refused(refused) => refused,
        Decision::Admitted(admitted) => panic!("{admitted:?}"),
    }
}

// shows: M1, limit::Limit
async fn instances_share_a_limit(fleet: Fleet) {
    let mut limits = Vec::new();
    for _ in 0..3 {
        limits.push(opened(&fleet.process().await, Rate::new(10, SECOND)).await);
    }
    let mut admitted = 0;
    for call in 0..30 {
        let decision = limits[call % 3].check(&["acme"]).await.unwrap();
        assert_eq!(decision.by(), DecidedBy::Store);
        admitted += u32::from(decision.is_admitted());
    }
    assert_eq!(admitted, 10);
    fleet.advance(SECOND).await;
    assert!(limits[0].check_n(&["acme"], 10).await.unwrap().is_admitted());
}

async fn refusal_names_its_level_and_its_time(fleet: Fleet) {
    let api = fleet.process().await.limit("api");
    let api = api.level("tenant", Rate::new(100, SECOND)).level("key", Window::new(1, 60 * SECOND)).open();
    let api = api.await.unwrap();
    assert!(api.check(&["acme", "7"]).await.unwrap().is_admitted());
    let refused = refused(api.check(&["acme", "7"]).await.unwrap());
    assert_eq!((refused.level.as_deref(), refused.by), (Some("key"), DecidedBy::Store));
    assert!(refused.retry_after > 60 * SECOND, "{refused:?}");
    fleet.advance(refused.retry_after - Duration::from_millis(1)).await;
    assert!(!api.check(&["acme", "7"]).await.unwrap().is_admitted());
    fleet.advance(Duration::from_millis(1)).await;
    assert!(api.check(&["acme", "7"]).await.unwrap().is_admitted());
}

// shows: M4, limit::Limit::acquire, limit::Limit::acquire_n
async fn acquire_returns_when_its_time_has_come(fleet: Fleet) {
    let api = opened(&fleet.process().await, Rate::new(10, SECOND).burst(1)).await;
    let began = fleet.now_ms();
    for waits in 0..3 {
        // The response time-out is 40 ms on the clock that the test moves.
        let acquired = fleet.while_time_passes_by(Duration::from_millis(1), api.acquire(&["acme"], 10 * SECOND)).await;
        let Decision::Admitted(admitted) = acquired.unwrap() else { panic!("its wait is short enough") };
        assert!(fleet.now_ms() - began >= waits * 100, "it returned before its time");
        assert!(admitted.waited <= SECOND / 10 && (waits == 0) == admitted.waited.is_zero(), "{admitted:?}");
    }
}

// shows: M4, limit::Limit::acquire, limit::Limit::acquire_n
async fn acquire_refuses_a_longer_wait_at_once(fleet: Fleet) {
    let api = opened(&fleet.process().await, Rate::new(1, SECOND)).await;
    assert!(api.check(&["acme"]).await.unwrap().is_admitted());
    let wait = Duration::from_millis(999);
    assert_eq!(refused(api.acquire(&["acme"], wait).await.unwrap()).retry_after, SECOND);
    fleet.advance(SECOND).await;
    assert!(api.acquire_n(&["acme"], 1, wait).await.unwrap().is_admitted(), "the refusal took nothing");
}

async fn call_for_many_tokens_gets_all_or_none(fleet: Fleet) {
    let api = opened(&fleet.process().await, Rate::new(10, SECOND)).await;
    assert!(api.check_n(&["acme"], 7).await.unwrap().is_admitted());
    assert!(!api.check_n(&["acme"], 4).await.unwrap().is_admitted());
    let Decision::Admitted(admitted) = api.check_n(&["acme"], 3).await.unwrap() else { panic!("three are left") };
    assert_eq!(admitted.remaining, Some(0));
}

async fn limits_of_different_names_are_independent(fleet: Fleet) {
    let keel = fleet.process().await;
    let [one, two] = ["one", "two"].map(|name| keel.limit(name).level("tenant", Rate::new(1, SECOND)).open());
    let (one, two) = (one.await.unwrap(), two.await.unwrap());
    assert!(one.check(&["acme"]).await.unwrap().is_admitted());
    assert!(two.check(&["acme"]).await.unwrap().is_admitted());
    assert!(one.check(&["umbrella"]).await.unwrap().is_admitted());
    assert!(!one.check(&["acme"]).await.unwrap().is_admitted());
}

/// A caller that gives up has taken its place all the same: others have planned with it.
// shows: M4, hazard LI13, limit::Limit::acquire
#[tokio::test]
async fn dropped_acquire_in_memory_keeps_its_place() {
    let fleet = Fleet::memory();
    let api = opened(&fleet.process().await, Rate::new(1, SECOND)).await;
    assert!(api.check(&["acme"]).await.unwrap().is_admitted());
    assert!(tokio::time::timeout(Duration::ZERO, api.acquire(&["acme"], 10 * SECOND)).await.is_err());
    assert_eq!(refused(api.check(&["acme"]).await.unwrap()).retry_after, 2 * SECOND);
}

/// A caller that polled would compete with all others at each of its turns.
// shows: M4, hazard LI10, limit::Limit::acquire, limit::Limit::acquire_n
#[tokio::test]
async fn acquire_sends_one_call_whatever_it_waits() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let clock = TestClock::default();
    let url = format!("{}?response_timeout_ms=600000&heartbeat_ms=6000000", redis.url());
    let keel = Keel::builder().clock(clock.clock()).process_reports(false).connect(&url).await.unwrap();
    let api = opened(&keel, Rate::new(10, SECOND).burst(1)).await;
    let mut trace = CommandTrace::start(&redis).await.unwrap();
    assert!(api.check(&["acme"]).await.unwrap().is_admitted());
    let mut waiting = std::pin::pin!(api.acquire(&["acme"], 10 * SECOND));
    let acquired = loop {
        // The pause is real, so that Redis has time to reply.
        match tokio::time::timeout(Duration::from_millis(2), &mut waiting).await {
            Ok(acquired) => break acquired.unwrap(),
            Err(_) => clock.advance(Duration::from_millis(1)),
        }
    };
    assert!(acquired.is_admitted(), "{acquired:?}");
    assert_eq!(trace.take(&redis).await.unwrap().from_clients().names(), [testkit::step_command(); 2]);
}
