//! Sinks that are absent, hang, panic or return invalid results delay only their own messages (U4).

use super::Db;
use super::recorder::Recorder;
use super::stage::Stage;
use crate::log::Log;
use evenkeel::cache::Cache;
use evenkeel::sql::relay::operate::{Outbox, ParkedDecision};
use evenkeel::sql::sink::{Confirmed, Envelope, Sink, SinkError, Sinks};
use evenkeel::sql::{Message, Relay};
use evenkeel::testing::TestClock;
use std::future::pending;
use std::time::Duration;

/// Commits a message without a key for this topic.
async fn unordered(stage: &Stage, topic: &str) {
    let mut work = stage.keel.begin(&stage.pool).await.unwrap();
    work.publish(Message::new(topic, topic.to_owned())).unwrap();
    Box::pin(work.commit()).await.unwrap();
}

/// Twenty units of work without a sink, and behind them an invalidation left by a dead process and a message for a healthy
/// sink.
async fn backlog(stage: &Stage) {
    for _ in 0..20 {
        unordered(stage, "absent").await;
    }
    stage.works_due().await;
    let cache: Cache<u64, u64> = stage.keel.cache("stock").ttl(Duration::from_secs(600)).open().await.unwrap();
    let mut work = stage.keel.begin(&stage.pool).await.unwrap();
    work.invalidate(&cache, &1).unwrap();
    Box::pin(work.commit()).await.unwrap();
    stage.keel.until_marked(&stage.pool).await;
    assert_eq!(stage.outbox_rows(2).await, 1);
    stage.sql("UPDATE evenkeel_outbox SET state = 1, due_at = 2, settled_at = NULL WHERE state = 2").await;
    unordered(stage, "links").await;
    stage.sql("UPDATE evenkeel_outbox SET due_at = 3 WHERE state = 1 AND due_at > 3").await;
}

async fn look(relay: &Relay<Db>, times: usize) {
    for _ in 0..times {
        relay.run_once().await.unwrap();
    }
}

/// Twenty units of work whose topic has no sink blocked all others for as long as they were in the table.
// shows: U4, hazard A11
#[tokio::test]
async fn rows_without_a_route_do_not_delay_other_rows() {
    let stage = Stage::set().await;
    backlog(&stage).await;
    let sink = Recorder::new();
    let sinks = Sinks::none().route("links", sink.clone());
    let relay = stage.keel.another_process().relay(&stage.pool).sinks(sinks).batch(4);
    let log = Log::begin();
    look(&relay, 6).await;
    log.says(&["no sink of this program accepts the topic"]);
    assert_eq!((sink.taken(), stage.outbox_rows(2).await), (vec!["links".to_owned()], 2));
    assert_eq!(
        (stage.outbox_rows(1).await, stage.outbox_rows(4).await),
        (20, 0),
        "the others wait for a program that has the sink"
    );
    let stats = Outbox::new(&stage.pool).stats().await.unwrap();
    assert_eq!((stats.waiting, stats.unrouted), (20, 20));
}

/// The same with a sink that is away; it is not asked again and again, and gets its messages when it is back.
// shows: U4, hazard A11
#[tokio::test]
async fn unavailable_sink_does_not_delay_other_units_of_work() {
    let stage = Stage::set().await;
    backlog(&stage).await;
    let (sink, absent) = (Recorder::new(), Recorder::new());
    absent.go_away();
    let sinks = Sinks::none().route("links", sink.clone()).route("absent", absent.clone());
    let relay = stage.keel.another_process().relay(&stage.pool).sinks(sinks).batch(4);
    look(&relay, 6).await;
    assert_eq!((sink.taken(), stage.outbox_rows(2).await), (vec!["links".to_owned()], 2));
    assert_eq!((stage.outbox_rows(1).await, absent.calls()), (20, 1));
    absent.come_back();
    stage.clock.advance(Duration::from_secs(10));
    // One of them comes due and finds the sink there; the others do not wait for their own time then.
    let first = "SELECT MIN(due_at) FROM evenkeel_outbox WHERE state = 1";
    let first = stage.number(first).await;
    stage.sql(&format!("UPDATE evenkeel_outbox SET due_at = 1 WHERE state = 1 AND due_at = {first}")).await;
    look(&relay, 8).await;
    assert_eq!((stage.outbox_rows(2).await, absent.taken().len()), (22, 20));
}

/// A message that no sink accepts is parked in the end, so that an operator sees it; a release restarts its time.
// shows: hazard A11
#[tokio::test]
async fn work_without_a_route_is_parked_after_its_time() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    let sinks = Sinks::none().route("links", sink.clone());
    let relay = stage.keel.another_process().relay(&stage.pool).sinks(sinks);
    let mut work = stage.keel.begin(&stage.pool).await.unwrap();
    work.publish(Message::new("absent", "unordered")).unwrap();
    work.publish(Message::new("absent", "ordered").key("a")).unwrap();
    let id = work.id();
    Box::pin(work.commit()).await.unwrap();
    stage.due().await;
    let looked = relay.run_once().await.unwrap();
    assert_eq!((looked.unrouted, looked.parked, looked.failed), (2, 0, 0));
    stage.sql("UPDATE evenkeel_outbox SET created_at = 1").await;
    stage.sql("UPDATE evenkeel_outbox_ordered SET created_at = 1").await;
    stage.due().await;
    let looked = relay.run_once().await.unwrap();
    assert_eq!((looked.parked, stage.outbox_rows(4).await), (2, 1));
    let outbox = Outbox::new(&stage.pool);
    assert!(outbox.release(id, ParkedDecision::Resend).await.unwrap());
    assert!(outbox.release_key("absent", "a", ParkedDecision::Resend).await.unwrap());
    let looked = relay.run_once().await.unwrap();
    assert_eq!((looked.unrouted, looked.parked), (2, 0), "its time counts from the release");
}

/// How a sink of a program's own can misbehave.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Panics,
    PanicsAtOnce,
    Hangs,
    Blocks,
    SaysNothing,
    SaysTooMuch,
    SaysMuch,
    Poison,
}

/// A sink that misbehaves at the message `bad`, and takes all others.
#[derive(Clone)]
struct Hostile {
    how: How,
    well: Recorder,
    clock: TestClock,
}

impl Sink for Hostile {
    async fn publish(&self, message: &Envelope) -> Result<Confirmed, SinkError> {
        if message.payload[..] != b"bad"[..] {
            return self.well.publish(message).await;
        }
        match self.how {
            How::Hangs => {
                // Time passes once the relay waits.
                let clock = self.clock.clone();
                tokio::spawn(async move { clock.advance(Duration::from_secs(1)) });
                pending().await
            }
            // A thread that is blocked for a moment; what the sink says afterwards is an ordinary failure.
            How::Blocks => {
                let (_open, never) = std::sync::mpsc::channel::<()>();
                assert!(never.recv_timeout(Duration::from_millis(20)).is_err());
                Err(SinkError::Retry("late".to_owned()))
            }
            How::SaysMuch => Err(SinkError::Retry("\0ü".repeat(100_000))),
            How::Poison => Err(SinkError::Poison("never".to_owned())),
            How::Panics | How::PanicsAtOnce => panic!("the sink's own fault"),
            How::SaysNothing | How::SaysTooMuch => Err(SinkError::Retry("no".to_owned())),
        }
    }

    fn publish_all(&self, messages: &[Envelope]) -> impl Future<Output = Vec<Result<Confirmed, SinkError>>> + Send {
        let is_bad = messages.iter().any(|message| message.payload[..] == b"bad"[..]);
        assert!(!(is_bad && self.how == How::PanicsAtOnce), "before it is awaited");
        async move {
            let mut answers = Vec::new();
            let mut held = Vec::new();
            for message in messages {
                let key = message.order.as_ref().map(|order| order.key.clone());
                if held.contains(&key) && key.is_some() {
                    answers.push(Err(SinkError::Held));
                    continue;
                }
                let is_bad = message.payload[..] == b"bad"[..];
                if is_bad && self.how == How::SaysNothing {
                    return answers;
                }
                let answer = self.publish(message).await;
                if answer.is_err() {
                    held.push(key);
                }
                answers.push(answer);
            }
            if self.how == How::SaysTooMuch {
                answers.extend(vec![Ok(Confirmed::Accepted); 300]);
            }
            answers
        }
    }
}

/// A message at which a sink hung was never counted and never parked; one at which it panicked ended the relay's loop, and
/// everything claimed with it waited for the claim to expire.
// shows: U4, hazard A15
#[tokio::test]
async fn hanging_or_panicking_sink_parks_only_its_message() {
    use How::{Blocks, Hangs, Panics, PanicsAtOnce, Poison, SaysMuch, SaysNothing, SaysTooMuch};
    for how in [Panics, PanicsAtOnce, Hangs, Blocks, SaysNothing, SaysTooMuch, SaysMuch, Poison] {
        let stage = Stage::set().await;
        let sink = Hostile { how, well: Recorder::new(), clock: stage.clock.clone() };
        for (key, words) in [("a", "a1"), ("a", "bad"), ("a", "a3"), ("b", "b1"), ("c", "c1")] {
            stage.publish(key, words).await;
        }
        for words in ["u1", "bad", "u3"] {
            stage.publish_unordered(words).await;
        }
        let builder = stage.keel.another_process().relay(&stage.pool).sinks(Sinks::to(sink.clone())).attempts_max(4);
        let backoff = Duration::from_millis(1);
        let relay = builder.deadline(Duration::from_millis(900)).backoff(backoff, backoff);
        for _ in 0..12 {
            stage.due().await;
            stage.clock.advance(Duration::from_secs(10));
            relay.run_once().await.unwrap();
        }
        let mut taken = sink.well.taken();
        taken.sort();
        taken.dedup();
        let parked = "SELECT COUNT(*) FROM evenkeel_outbox_keys WHERE parked_at IS NOT NULL AND sent_sequence = 1";
        assert_eq!(taken, ["a1", "b1", "c1", "u1", "u3"], "{how:?}");
        assert_eq!((stage.outbox_rows(4).await, stage.number(parked).await), (1, 1), "{how:?}");
        assert_eq!((stage.sent("b").await, stage.sent("c").await), (1, 1), "{how:?}");
    }
}

/// A sink called itself unavailable because of one message, and was then tested with that message alone: those that had failed before
/// were never sent again, and never parked.
// shows: U4, hazard A29c
#[tokio::test]
async fn sink_unavailable_for_one_message_gets_the_others() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    sink.answer(|envelope| match &envelope.payload[..] {
        b"sick" => Err(SinkError::Retry("no".to_owned())),
        _ => Err(SinkError::Unavailable("gone fishing".to_owned())),
    });
    let hour = Duration::from_secs(3600);
    let relay = stage.relay(&sink).attempts_max(3).backoff(hour, hour);
    stage.publish("a", "sick").await;
    stage.publish_unordered("sick").await;
    stage.due().await;
    assert_eq!(relay.run_once().await.unwrap().failed, 2);
    // The others are not due yet.
    stage.publish("b", "away").await;
    stage.publish_unordered("away").await;
    stage.sql("UPDATE evenkeel_outbox SET due_at = 1 WHERE state = 1 AND attempts = 0").await;
    assert_eq!(relay.run_once().await.unwrap().waiting, 2);
    for _ in 0..8 {
        stage.clock.advance(Duration::from_secs(10));
        stage.due().await;
        relay.run_once().await.unwrap();
    }
    let parked = "SELECT COUNT(*) FROM evenkeel_outbox_keys WHERE parked_at IS NOT NULL AND message_key = 'a'";
    assert_eq!((stage.outbox_rows(4).await, stage.outbox_rows(1).await, stage.number(parked).await), (1, 1, 1));
}

/// Rows that this program does not know, left by another program or by hand: each is reported, none stops the rest.
// shows: hazard A15
#[tokio::test]
async fn unreadable_rows_do_not_delay_other_rows() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    let mut ids = Vec::new();
    for number in 0..6 {
        let mut work = stage.keel.begin(&stage.pool).await.unwrap();
        work.publish(Message::new("links", format!("u{number}"))).unwrap();
        ids.push(work.id().0);
        Box::pin(work.commit()).await.unwrap();
    }
    let id = |number: usize| super::blob(&ids[number].iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    stage.sql(&format!("UPDATE evenkeel_outbox SET effects = NULL WHERE id = {}", id(0))).await;
    stage.sql(&format!("UPDATE evenkeel_outbox SET effects = {} WHERE id = {}", super::blob("01ff"), id(1))).await;
    stage.sql(&format!("UPDATE evenkeel_outbox SET effects = {} WHERE id = {}", super::blob("7b7d"), id(2))).await;
    stage.sql(&format!("UPDATE evenkeel_outbox SET state = 77 WHERE id = {}", id(3))).await;
    stage.publish("a", "a1").await;
    stage.publish("b", "b1").await;
    let headers = super::blob("00ff");
    stage.sql(&format!("UPDATE evenkeel_outbox_ordered SET headers = {headers} WHERE message_key = 'a'")).await;
    stage.sql("UPDATE evenkeel_outbox SET due_at = 1 WHERE due_at IS NOT NULL").await;
    let relay = stage.relay(&sink).batch(2).attempts_max(2);
    for _ in 0..8 {
        stage.sql("UPDATE evenkeel_outbox SET due_at = 2 WHERE due_at > 2 AND state = 1").await;
        relay.run_once().await.unwrap();
    }
    let mut taken = sink.taken();
    taken.sort();
    assert_eq!(taken, ["b1", "u4", "u5"]);
    // Done: the two that could be read, and the two whose messages went to their keys.
    assert_eq!((stage.outbox_rows(4).await, stage.outbox_rows(2).await), (3, 4));
    let parked = "SELECT COUNT(*) FROM evenkeel_outbox_keys WHERE parked_at IS NOT NULL AND message_key = 'a'";
    assert_eq!(stage.number(parked).await, 1);
    let looked = relay.run_once().await.unwrap();
    assert!(!looked.next.is_zero(), "a row of an unknown state does not make the relay poll without a pause");
}

/// A relay works with every setting at 0, at its minimum and at its maximum.
// shows: hazard A25
#[tokio::test]
async fn relay_works_with_extreme_settings() {
    let mut relays = Vec::new();
    let stage = Stage::set().await;
    let sink = Recorder::new();
    let relay = || stage.keel.another_process().relay(&stage.pool).sinks(Sinks::none().route("links", sink.clone()));
    for (name, change) in crate::sql::extremes::relay_settings::<Db>() {
        relays.push((name, change(relay())));
    }
    sink.answer(|envelope| match &envelope.payload[..] {
        b"sick" => Err(SinkError::Retry("no".to_owned())),
        _ => Ok(Confirmed::Accepted),
    });
    for (name, relay) in relays {
        for words in ["sick", "well"] {
            stage.publish(words, words).await;
            stage.publish_unordered(words).await;
        }
        unordered(&stage, "absent").await;
        let before = sink.taken().len();
        for round in 1..=7 {
            // What was touched comes last.
            let due = format!("due_at = {round} WHERE due_at > 1000");
            stage.sql(&format!("UPDATE evenkeel_outbox SET {due} AND state = 1")).await;
            stage.sql(&format!("UPDATE evenkeel_outbox_keys SET {due} AND parked_at IS NULL")).await;
            relay.run_once().await.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert_eq!(sink.taken().len(), before + 2, "{name}");
        relay.tidy_once().await.unwrap_or_else(|error| panic!("{name}: {error}"));
        for table in ["evenkeel_outbox", "evenkeel_outbox_keys", "evenkeel_outbox_ordered"] {
            stage.sql(&format!("DELETE FROM {table}")).await;
        }
    }
}

/// Twenty units of work of a megabyte and twenty messages of keys, with small ones behind them: a relay that reads all of it at once needs the memory
/// for all of it, and the reply of the database comes too late.
// shows: hazard A24
#[tokio::test]
async fn claim_is_bounded_by_its_bytes() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    let large = "x".repeat(1 << 20);
    for number in 0..20 {
        stage.publish_unordered(&large).await;
        stage.publish(&format!("k{}", number % 5), &large).await;
    }
    stage.publish_unordered("small").await;
    stage.publish("small", "small").await;
    stage.due().await;
    let looks = stage.drain(&stage.relay(&sink)).await;
    assert_eq!((sink.taken().len(), stage.outbox_rows(1).await), (42, 0));
    assert!(looks.iter().all(|looked| looked.carried <= 17 && looked.sent <= 17 && looked.failed == 0), "{looks:?}");
    for key in 0..5 {
        assert_eq!(sink.sequences(&format!("k{key}")), [1, 2, 3, 4]);
    }
}
