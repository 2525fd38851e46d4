//! The fault proxy in front of a real Redis: each fault is what it says, seen from the client.

use crate::servers::client::connect;
use redis::aio::MultiplexedConnection;
use std::time::{Duration, Instant};
use testkit::proxy::{Act, Direction, Flow, Proxy, Schedule};
use testkit::servers::{Redis, RedisOptions};

const SILENCE: Duration = Duration::from_millis(150);

struct Setup {
    redis: Redis,
    proxy: Proxy,
}

async fn setup() -> Setup {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let proxy = Proxy::start(redis.port(), 7).await.unwrap();
    Setup { redis, proxy }
}

impl Setup {
    /// A client through the proxy; what it said to open the connection is not counted.
    async fn client(&self) -> MultiplexedConnection {
        let mut connection = connect(&self.proxy.url(&self.redis.url())).await.unwrap();
        redis::cmd("PING").query_async::<()>(&mut connection).await.unwrap();
        self.proxy.forget_commands();
        connection
    }

    /// What the server itself holds.
    async fn value(&self, key: &str) -> Option<i64> {
        self.redis.command(&["GET", key]).await.unwrap()
    }
}

async fn increment(connection: &mut MultiplexedConnection) -> redis::RedisResult<i64> {
    redis::cmd("INCR").arg("n").query_async(connection).await
}

/// Lets `future` run and asserts that it is not answered.
async fn is_silent<T>(future: impl Future<Output = T>) {
    assert!(tokio::time::timeout(SILENCE, future).await.is_err());
}

#[tokio::test]
async fn proxy_passes_everything_and_records_commands() {
    let setup = setup().await;
    let mut client = setup.client().await;
    assert_eq!(increment(&mut client).await.unwrap(), 1);
    redis::cmd("set").arg("k").arg(vec![0_u8; 200_000]).query_async::<()>(&mut client).await.unwrap();
    let seen: Vec<_> = setup.proxy.commands().into_iter().map(|seen| (seen.number, seen.name, seen.argument)).collect();
    assert_eq!(seen, [(1, "INCR".into(), Some("n".into())), (2, "SET".into(), Some("k".into()))]);
    let counters = setup.proxy.counters();
    assert_eq!((counters.accepted, counters.open, counters.cut), (1, 1, 0));
    drop(client);
    setup.proxy.wait_until("the connection ends", |counters| counters.open == 0).await.unwrap();
}

#[tokio::test]
async fn stalled_replies_resume_without_loss() {
    let setup = setup().await;
    let mut client = setup.client().await;
    setup.proxy.set(Direction::ToClient, Flow::Stall);
    let mut answer = Box::pin(increment(&mut client));
    is_silent(&mut answer).await;
    assert_eq!(setup.value("n").await, Some(1), "the way to the server is open");
    setup.proxy.heal();
    assert_eq!(answer.await.unwrap(), 1);
}

#[tokio::test]
async fn stalled_commands_do_not_reach_the_server() {
    let setup = setup().await;
    let mut client = setup.client().await;
    setup.proxy.set(Direction::ToServer, Flow::Stall);
    let mut answer = Box::pin(increment(&mut client));
    is_silent(&mut answer).await;
    assert_eq!(setup.value("n").await, None);
    setup.proxy.heal();
    assert_eq!(answer.await.unwrap(), 1);
}

#[tokio::test]
async fn connection_with_lost_bytes_stays_dead() {
    let setup = setup().await;
    let mut client = setup.client().await;
    setup.proxy.set(Direction::ToClient, Flow::Swallow);
    is_silent(increment(&mut client)).await;
    setup.proxy.heal();
    is_silent(increment(&mut client)).await;
    assert_eq!(setup.value("n").await, Some(2));
    assert_eq!(increment(&mut setup.client().await).await.unwrap(), 3);
}

#[tokio::test]
async fn half_open_connection_is_silent_until_cut() {
    let setup = setup().await;
    let mut client = setup.client().await;
    setup.proxy.half_open();
    let mut answer = Box::pin(increment(&mut client));
    is_silent(&mut answer).await;
    assert_eq!(setup.value("n").await, None, "the server's side is closed");
    setup.proxy.cut();
    assert!(answer.await.is_err());
    assert_eq!(setup.proxy.counters().cut, 1);
}

#[tokio::test]
async fn cut_ends_open_connections_and_spares_new_ones() {
    let setup = setup().await;
    let mut client = setup.client().await;
    setup.proxy.cut();
    assert!(increment(&mut client).await.is_err());
    assert_eq!(increment(&mut setup.client().await).await.unwrap(), 1);
}

#[tokio::test]
async fn refused_connections_leave_open_ones_intact() {
    let setup = setup().await;
    let mut client = setup.client().await;
    setup.proxy.refuse(true).await.unwrap();
    let refused = connect(&setup.proxy.url(&setup.redis.url())).await.unwrap_err();
    assert!(refused.is_connection_refusal(), "{refused}");
    assert_eq!(increment(&mut client).await.unwrap(), 1);
    setup.proxy.refuse(false).await.unwrap();
    assert_eq!(increment(&mut setup.client().await).await.unwrap(), 2);
}

/// The two crash points of every command: the command was not executed, or it was executed and its reply was lost.
#[tokio::test]
async fn cut_before_command_and_before_reply_differ_in_effect() {
    let setup = setup().await;
    let mut client = setup.client().await;
    setup.proxy.cut_before_command(2);
    assert_eq!(increment(&mut client).await.unwrap(), 1);
    assert!(increment(&mut client).await.is_err());
    assert_eq!(setup.value("n").await, Some(1));

    let mut client = setup.client().await;
    setup.proxy.cut_before_reply(2);
    assert_eq!(increment(&mut client).await.unwrap(), 2);
    assert!(increment(&mut client).await.is_err());
    assert_eq!(setup.value("n").await, Some(3));
}

#[tokio::test]
async fn cut_after_bytes_ends_inside_a_command() {
    let setup = setup().await;
    let mut client = setup.client().await;
    let before = setup.proxy.counters().bytes_to_server;
    setup.proxy.cut_after_bytes(Direction::ToServer, 5);
    assert!(increment(&mut client).await.is_err());
    let counters = setup.proxy.wait_until("the cut", |counters| counters.cut == 1).await.unwrap();
    assert_eq!(counters.bytes_to_server - before, 5);
    assert_eq!(setup.value("n").await, None);
}

#[tokio::test]
async fn held_command_does_not_delay_other_connections() {
    let setup = setup().await;
    let (mut held, mut free) = (setup.client().await, setup.client().await);
    let mut hold = setup.proxy.hold(Direction::ToServer, "incr");
    let waiting = tokio::spawn(async move { increment(&mut held).await });
    assert_eq!(hold.reached().await.unwrap().name, "INCR");
    assert_eq!(increment(&mut free).await.unwrap(), 1);
    hold.release();
    assert_eq!(waiting.await.unwrap().unwrap(), 2);
}

#[tokio::test]
async fn held_reply_belongs_to_an_executed_command() {
    let setup = setup().await;
    let mut client = setup.client().await;
    let mut hold = setup.proxy.hold(Direction::ToClient, "INCR");
    let waiting = tokio::spawn(async move { increment(&mut client).await });
    hold.reached().await.unwrap();
    assert_eq!(setup.value("n").await, Some(1));
    drop(hold);
    assert_eq!(waiting.await.unwrap().unwrap(), 1);
}

#[tokio::test]
async fn duplicate_runs_twice_and_is_answered_once() {
    let setup = setup().await;
    let mut client = setup.client().await;
    setup.proxy.duplicate(1.0, Duration::ZERO..=Duration::from_millis(5));
    increment(&mut client).await.unwrap();
    setup.proxy.heal();
    let twice = testkit::eventually("the duplicate arrives", || async { setup.value("n").await.filter(|n| *n == 2) });
    twice.await.unwrap();
    assert_eq!(increment(&mut client).await.unwrap(), 3);
    assert_eq!(setup.proxy.counters().duplicated, 1);
}

#[tokio::test]
async fn delay_is_at_least_as_long_as_configured() {
    let setup = setup().await;
    let mut client = setup.client().await;
    let delay = Duration::from_millis(40);
    setup.proxy.set(Direction::ToServer, Flow::Delay { min: delay, max: delay });
    setup.proxy.set(Direction::ToClient, Flow::Delay { min: delay, max: 2 * delay });
    let began = Instant::now();
    increment(&mut client).await.unwrap();
    assert!(began.elapsed() >= 2 * delay);
}

#[tokio::test]
async fn schedule_follows_its_seed_and_ends_healed() {
    assert_eq!(Schedule::random(11, 20), Schedule::random(11, 20));
    assert_ne!(Schedule::random(11, 20), Schedule::random(12, 20));
    let setup = setup().await;
    let mut schedule = Schedule::random(3, 6);
    schedule.0.iter_mut().for_each(|step| step.wait_max = Duration::from_millis(5));
    assert!(schedule.0.iter().any(|step| step.act != Act::Heal));
    setup.proxy.play(&schedule).await.unwrap();
    increment(&mut setup.client().await).await.unwrap();
}

#[tokio::test]
async fn proxy_without_a_server_accepts_and_closes() {
    let proxy = {
        let redis = Redis::start(RedisOptions::new()).await.unwrap();
        Proxy::start(redis.port(), 1).await.unwrap()
    };
    assert!(connect(&format!("redis://127.0.0.1:{}", proxy.port())).await.is_err());
    assert!(proxy.wait_for_connections(1).await.unwrap().accepted >= 1);
}
