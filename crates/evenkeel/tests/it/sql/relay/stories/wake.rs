//! The commit itself wakes a relay in another process. The clock is frozen, so that the relay cannot poll in time.

use super::recorder::Recorder;
use super::stage::Stage;
use super::{Db, pool};
use evenkeel::sql::sink::Sinks;
use evenkeel::sql::{Relay, WakeUp};
use std::time::Duration;
use testkit::eventually;
use testkit::proxy::Proxy;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Longer than any test advances the clock.
const FOREVER: Duration = Duration::from_secs(3_600 * 24 * 365);

/// A relay of another process that never polls on a timer.
fn relay(stage: &Stage, sink: &Recorder, pool: &sqlx::Pool<Db>) -> Relay<Db> {
    let elsewhere = stage.keel.another_process();
    elsewhere.relay::<Db>(pool).sinks(Sinks::to(sink.clone())).poll(FOREVER, FOREVER)
}

fn run(relay: Relay<Db>) -> (JoinHandle<()>, oneshot::Sender<()>) {
    let (stop, stopped) = oneshot::channel::<()>();
    (tokio::spawn(async move { relay.run(async { _ = stopped.await }).await }), stop)
}

async fn until_called(sink: &Recorder, times: usize) {
    let called = tokio::time::timeout(Duration::from_secs(30), sink.until_called(times)).await;
    assert!(called.is_ok(), "nothing woke the relay for message {times}");
}

/// It polls once when it starts and once when it begins to listen; from the third message on only a commit can have woken
/// it.
async fn every_commit_wakes_the_relay(wake_up: WakeUp) {
    let stage = Stage::set().await;
    stage.keel.wake_relays(wake_up);
    let sink = Recorder::new();
    let (running, stop) = run(relay(&stage, &sink, &stage.pool));
    for number in 1..=5 {
        stage.publish("a", &format!("a{number}")).await;
        until_called(&sink, number).await;
    }
    stop.send(()).unwrap();
    running.await.unwrap();
    assert_eq!((sink.sequences("a"), stage.sent("a").await), (vec![1, 2, 3, 4, 5], 5));
}

/// (Published outboxes) A message waited for the next poll of a relay elsewhere, a second or more.
// shows: U3
#[tokio::test]
async fn commit_wakes_a_relay_of_another_process() {
    every_commit_wakes_the_relay(WakeUp::AfterCommit).await;
}

// shows: U3
#[tokio::test]
async fn notification_can_be_sent_within_the_commit() {
    every_commit_wakes_the_relay(WakeUp::WithCommit).await;
}

/// Notifications sent while no relay listened are lost. A listener that only continued to listen left those messages to the
/// next commit.
///
/// (This test failed once in a while) The connections were cut before the relay had recorded what it had sent last; see
/// `again`. Now the relay pauses when that happens, so only a notification after its return can wake it.
// shows: U3
#[tokio::test]
async fn relay_finds_commits_made_while_not_listening() {
    let stage = Stage::set().await;
    stage.keel.wake_relays(WakeUp::Never);
    let port = url::Url::parse(&stage.database.url).unwrap().port().unwrap();
    let proxy = Proxy::start(port, 1).await.unwrap();
    let far = pool(&proxy.url(&stage.database.url)).await;
    let sink = Recorder::new();
    let relay = relay(&stage, &sink, &far);
    let (running, stop) = run(relay.clone());
    let paused = tokio::time::timeout(Duration::from_secs(30), relay.until_paused(1)).await;
    assert!(paused.is_ok(), "the relay did not poll when it began to listen");
    proxy.refuse(true).await.unwrap();
    proxy.cut();
    stage.publish("a", "a1").await;
    stage.publish("b", "b1").await;
    proxy.refuse(false).await.unwrap();
    let mut probes = 0_u32;
    let found = || {
        probes += 1;
        // Between two attempts to listen again the relay waits by its clock; a step on the database has ten seconds of it.
        if probes.is_multiple_of(200) {
            stage.clock.advance(Duration::from_secs(5));
        }
        std::future::ready((sink.calls() >= 2).then_some(()))
    };
    eventually("the relay found the commits without a notification", found).await.unwrap();
    stop.send(()).unwrap();
    running.await.unwrap();
    assert_eq!((sink.sequences("a"), sink.sequences("b")), (vec![1], vec![1]));
}
