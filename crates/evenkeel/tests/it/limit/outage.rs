//! Limits without Redis.

use super::stories::refused;
use evenkeel::Keel;
use evenkeel::limit::{DecidedBy, Decision, Limit, Rate, WithoutRedis};
use evenkeel::link::LinkOptions;
use evenkeel::testing::TestClock;
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};

const HOUR: Duration = Duration::from_secs(3_600);
const SECOND: Duration = Duration::from_secs(1);

/// A program whose time-outs pass only when the test moves the clock.
async fn program(redis: &Redis) -> (Keel, TestClock) {
    let clock = TestClock::default();
    (program_on(redis, &clock).await, clock)
}

async fn program_on(redis: &Redis, clock: &TestClock) -> Keel {
    let url = format!("{}?response_timeout_ms=600000&heartbeat_ms=6000000", redis.url());
    Keel::builder().clock(clock.clock()).process_reports(false).connect(&url).await.unwrap()
}

async fn opened(keel: &Keel, burst: u32, choice: WithoutRedis) -> Limit {
    let limit = keel.limit("api").level("tenant", Rate::new(1, HOUR).burst(burst)).without_redis(choice);
    limit.open().await.unwrap()
}

/// Polls a future, and advances the clock by `step` whenever it is not ready. The pauses are real, so that other tasks run before the clock moves on.
async fn while_time_passes<F: Future>(clock: &TestClock, step: Duration, future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    loop {
        match tokio::time::timeout(Duration::from_millis(2), &mut future).await {
            Ok(output) => return output,
            Err(_) => clock.advance(step),
        }
    }
}

async fn until(keel: &Keel, clock: &TestClock, is_up: bool) {
    let mut state = keel.link().unwrap().state();
    let changed = async { state.wait_for(|state| state.is_up() == is_up).await.map(drop).unwrap() };
    crate::in_time(while_time_passes(clock, SECOND / 10, changed)).await;
}

/// The number of calls that are admitted until one is refused, and who refused it.
async fn admitted(limit: &Limit) -> (u32, DecidedBy) {
    let mut count = 0;
    loop {
        match limit.check(&["acme"]).await.unwrap() {
            Decision::Admitted(_) => count += 1,
            Decision::Refused(refused) => return (count, refused.by),
        }
    }
}

// shows: M3, limit::Limit, limit::Limit::check, limit::Limit::check_n, limit::WithoutRedis::Local
#[tokio::test]
async fn calls_without_redis_are_decided_as_chosen() {
    let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
    let (keel, clock) = program(&redis).await;
    let local = opened(&keel, 4, WithoutRedis::Local).await;
    let open = opened(&keel, 4, WithoutRedis::Open).await;
    let closed = opened(&keel, 4, WithoutRedis::Closed).await;
    assert_eq!(closed.check_n(&["other"], 4).await.unwrap().by(), DecidedBy::Store);
    redis.kill().unwrap();
    until(&keel, &clock, false).await;
    assert_eq!(admitted(&local).await, (4, DecidedBy::Local));
    for _ in 0..10 {
        let Decision::Admitted(admitted) = open.check(&["acme"]).await.unwrap() else { panic!("it is open") };
        assert_eq!((admitted.by, admitted.remaining), (DecidedBy::Policy, None));
        let refused = refused(closed.acquire(&["acme"], HOUR).await.unwrap());
        assert_eq!((refused.by, refused.retry_after, refused.level), (DecidedBy::Policy, SECOND, None));
    }
    redis.restart().await.unwrap();
    until(&keel, &clock, true).await;
    assert_eq!(admitted(&local).await, (4, DecidedBy::Store), "a burst more");
}

/// A request waited for as long as the link's response time-out.
// shows: M3, hazard LI8, hazard LI9, limit::Limit
#[tokio::test]
async fn calls_to_a_silent_redis_are_decided_within_fifty_ms() {
    let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
    let (keel, clock) = program(&redis).await;
    let closed = opened(&keel, 4, WithoutRedis::Closed).await;
    redis.pause().unwrap();
    let began = clock.clock().now();
    crate::in_time(async {
        let call = closed.check(&["acme"]);
        let decision = while_time_passes(&clock, Duration::from_millis(1), call).await.unwrap();
        assert_eq!(decision.by(), DecidedBy::Policy);
    })
    .await;
    let took = clock.clock().now().since(began);
    assert!(took <= Duration::from_millis(50), "{took:?}");
    // The call was sent once: it takes one token when Redis goes on, and the next call another.
    redis.resume().unwrap();
    let Decision::Admitted(admitted) = closed.check(&["acme"]).await.unwrap() else { panic!("two are left") };
    assert_eq!((admitted.by, admitted.remaining), (DecidedBy::Store, Some(2)));
    assert_eq!(keel.link().unwrap().epoch().unwrap().number(), 1, "the connections stay");
}

// shows: M3, limit::WithoutRedis::Local
#[tokio::test]
async fn local_shares_divide_the_quotas_among_instances() {
    let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
    let clock = TestClock::default();
    let keels = [program_on(&redis, &clock).await, program_on(&redis, &clock).await];
    let one = opened(&keels[0], 10, WithoutRedis::Local).await;
    let two = opened(&keels[1], 10, WithoutRedis::Local).await;
    assert_eq!((one.instances(), two.instances()), (1, 2));
    assert!(one.check(&["other"]).await.unwrap().is_admitted());
    assert_eq!(one.instances(), 1, "it has counted a moment ago");
    clock.advance(10 * SECOND);
    assert!(one.check(&["other"]).await.unwrap().is_admitted());
    assert_eq!(one.instances(), 2);
    redis.kill().unwrap();
    for limit in [&one, &two] {
        crate::in_time(async {
            while limit.check(&["until Redis is away"]).await.unwrap().by() == DecidedBy::Store {
                tokio::task::yield_now().await;
            }
        })
        .await;
        assert_eq!(admitted(limit).await, (5, DecidedBy::Local));
        let refused = refused(limit.check_n(&["new"], 6).await.unwrap());
        assert_eq!((refused.by, refused.retry_after), (DecidedBy::Local, SECOND), "more than its share at once");
    }
}

// shows: M3, limit::LimitBuilder::open, limit::WithoutRedis::Local
#[tokio::test]
async fn instance_that_never_reached_redis_decides_alone() {
    let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
    redis.kill().unwrap();
    let keel = Keel::builder().connect_lazy_with(LinkOptions::from_url(&redis.url()).unwrap()).await.unwrap();
    let local = opened(&keel, 3, WithoutRedis::Local).await;
    assert_eq!(local.instances(), 1);
    assert_eq!(admitted(&local).await, (3, DecidedBy::Local));
}

/// A source that is refused all the time is no reason to be admitted: a full Redis counts as none.
// shows: M3
#[tokio::test]
async fn full_redis_leaves_the_decision_to_the_choice() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let (keel, _clock) = program(&redis).await;
    let closed = opened(&keel, 3, WithoutRedis::Closed).await;
    assert_eq!(closed.check(&["acme"]).await.unwrap().by(), DecidedBy::Store);
    redis.command::<()>(&["CONFIG", "SET", "maxmemory", "1"]).await.unwrap();
    assert_eq!(refused(closed.check(&["acme"]).await.unwrap()).by, DecidedBy::Policy);
    redis.command::<()>(&["CONFIG", "SET", "maxmemory", "0"]).await.unwrap();
    assert_eq!(closed.check(&["acme"]).await.unwrap().by(), DecidedBy::Store);
}

/// A reservation of the instance's share waits as one in Redis does.
// shows: M3
#[tokio::test]
async fn acquire_without_redis_waits_for_its_share() {
    let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
    let (keel, clock) = program(&redis).await;
    let local = keel.limit("api").level("tenant", Rate::new(1, SECOND)).open().await.unwrap();
    redis.kill().unwrap();
    until(&keel, &clock, false).await;
    let began = clock.clock().now();
    for waits in [0, 1, 2] {
        let call = local.acquire(&["acme"], 10 * SECOND);
        let decision = while_time_passes(&clock, SECOND / 10, call).await.unwrap();
        assert_eq!((decision.is_admitted(), decision.by()), (true, DecidedBy::Local));
        assert!(clock.clock().now().since(began) >= waits * SECOND);
    }
}
