//! Trouble: sinks that reject, unavailable sinks, messages that no sink can take, claims that expire.

use super::recorder::Recorder;
use super::stage::Stage;
use evenkeel::sql::sink::{Confirmed, SinkError, Sinks};
use std::time::Duration;

/// (U4) A published outbox froze a whole topic forever at one message that could not be sent.
// shows: U4, hazard O9, sql::Relay
#[tokio::test]
async fn poison_message_parks_only_its_key() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    sink.answer(|envelope| match &envelope.payload[..] {
        b"bad" => Err(SinkError::Poison("too large".to_owned())),
        _ => Ok(Confirmed::Accepted),
    });
    for (key, words) in [("a", "a1"), ("a", "bad"), ("a", "a3"), ("b", "b1")] {
        stage.publish(key, words).await;
    }
    let relay = stage.relay(&sink);
    let looks = stage.drain(&relay).await;
    assert_eq!(looks.iter().map(|looked| looked.parked).sum::<usize>(), 1);
    assert_eq!((sink.sequences("a"), sink.sequences("b")), (vec![1], vec![1]));
    // Later messages of the key wait, too; a new message must not make the key due.
    stage.publish("a", "a4").await;
    stage.publish("b", "b2").await;
    stage.drain(&relay).await;
    assert_eq!((sink.sequences("a"), sink.sequences("b")), (vec![1], vec![1, 2]));
    let parked = "SELECT COUNT(*) FROM evenkeel_outbox_keys WHERE parked_at IS NOT NULL AND error LIKE '%too large%'";
    assert_eq!(stage.number(parked).await, 1);
}

/// A unit of work that fails is retried up to `attempts_max`; then it waits for an operator, and others are not delayed.
// shows: U4, hazard O9, sql::Relay, sql::Sink::publish
#[tokio::test]
async fn unit_of_work_that_exceeds_its_attempts_is_parked() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    sink.answer(|envelope| match &envelope.payload[..] {
        b"sick" => Err(SinkError::Retry("no".to_owned())),
        _ => Ok(Confirmed::Accepted),
    });
    stage.publish("a", "sick").await;
    stage.publish_unordered("sick").await;
    let relay = stage.relay(&sink).attempts_max(3);
    let mut failures = 0;
    for _ in 0..3 {
        stage.due().await;
        let looked = relay.run_once().await.unwrap();
        failures += looked.failed + looked.parked;
    }
    assert_eq!((failures, sink.calls()), (6, 6));
    stage.publish("b", "well").await;
    stage.due().await;
    stage.drain(&relay).await;
    assert_eq!((sink.taken(), sink.calls()), (vec!["well".to_owned()], 7));
    assert_eq!(
        (
            stage.outbox_rows(4).await,
            stage.number("SELECT attempts FROM evenkeel_outbox_keys WHERE message_key = 'a'").await
        ),
        (1, 3)
    );
}

/// A broker was away for an hour, and every waiting message used up its attempts and was parked. An unavailable sink is not
/// the message's fault, and nothing is claimed for it.
// shows: U4, hazard O9, sql::Sink::publish, spec/unit-of-work.md
#[tokio::test]
async fn unavailable_sink_uses_no_attempts() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    sink.go_away();
    for number in 0..5 {
        stage.publish(&format!("k{number}"), "ordered").await;
        stage.publish_unordered("unordered").await;
    }
    let relay = stage.relay(&sink).attempts_max(1);
    for _ in 0..4 {
        stage.due().await;
        let looked = relay.run_once().await.unwrap();
        assert_eq!((looked.failed, looked.parked), (0, 0));
    }
    assert_eq!(
        sink.calls(),
        6,
        "five keys and one unit of work in one call, and no further call while the gates are closed"
    );
    let attempts = "SELECT COUNT(*) FROM evenkeel_outbox_keys WHERE attempts > 0 OR parked_at IS NOT NULL";
    assert_eq!((stage.number(attempts).await, stage.outbox_rows(1).await), (0, 5));
    // Then one of each is enough to ask with.
    stage.clock.advance(Duration::from_secs(10));
    stage.due().await;
    relay.run_once().await.unwrap();
    assert_eq!(sink.calls(), 8);
    sink.come_back();
    stage.clock.advance(Duration::from_secs(10));
    stage.due().await;
    stage.drain(&relay).await;
    assert_eq!((sink.taken().len(), stage.outbox_rows(2).await), (10, 10));
}

/// One sink is unavailable, another is healthy: its messages are sent.
// shows: U4, spec/unit-of-work.md
#[tokio::test]
async fn unavailable_sink_stops_only_its_topics() {
    let stage = Stage::set().await;
    let (away, well) = (Recorder::new(), Recorder::new());
    away.go_away();
    let sinks = Sinks::to(well.clone()).route("links", away.clone());
    let relay = stage.keel.another_process().relay(&stage.pool).sinks(sinks);
    for number in 0..3 {
        stage.publish(&format!("k{number}"), "links").await;
        let mut work = stage.keel.begin(&stage.pool).await.unwrap();
        work.publish(evenkeel::sql::Message::new("audit", "audit").key(format!("k{number}"))).unwrap();
        Box::pin(work.commit()).await.unwrap();
        stage.drain(&relay).await;
    }
    assert_eq!((well.taken().len(), away.taken().len(), away.calls()), (3, 0, 1));
}

/// The invalidations of a relay that was killed waited for a minute, because its claim lasted that long, while it did nothing but wait for
/// Redis.
// shows: U3, hazard BW3
#[tokio::test]
async fn claim_is_short_and_renewed_while_a_sink_is_slow() {
    let stage = Stage::set().await;
    let slow = Recorder::holding();
    stage.publish_unordered("u").await;
    stage.due().await;
    let relay = stage.relay(&slow);
    let pass = tokio::spawn(async move { relay.run_once().await.unwrap() });
    slow.until_called(1).await;
    let claimed_ms = "SELECT MAX(due_at - created_at) FROM evenkeel_outbox WHERE claim IS NOT NULL";
    assert!((1..30_000).contains(&stage.number(claimed_ms).await));
    stage.works_due().await;
    let renewed = || async {
        stage.clock.advance(Duration::from_secs(1));
        let due = "SELECT COUNT(*) FROM evenkeel_outbox WHERE claim IS NOT NULL AND due_at > created_at";
        (stage.number(due).await == 1).then_some(())
    };
    testkit::eventually("the claim is renewed", renewed).await.unwrap();
    slow.release(1);
    assert_eq!((pass.await.unwrap().carried, slow.calls()), (1, 1));
}

/// What a relay had given back while a sink was unavailable was due a minute later; the relay was killed, and the one that was started in
/// its place did not know that the sink was available again.
// shows: U3, hazard BW3
#[tokio::test]
async fn started_relay_takes_up_what_waits() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    sink.go_away();
    stage.publish("a", "a1").await;
    stage.publish_unordered("u").await;
    stage.due().await;
    assert_eq!(stage.relay(&sink).run_once().await.unwrap().waiting, 2);
    for table in ["evenkeel_outbox", "evenkeel_outbox_keys"] {
        stage.sql(&format!("UPDATE {table} SET due_at = due_at + 60000 WHERE due_at IS NOT NULL")).await;
    }
    sink.come_back();
    stage.drain(&stage.relay(&sink)).await;
    assert_eq!(sink.taken().len(), 2);
}

/// The database's clock was set back by an hour. What was due in two seconds, and what a relay had claimed before it died, waited for an hour.
// shows: hazard T15
#[tokio::test]
async fn clock_of_the_database_set_back_delays_nothing_for_long() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    stage.publish("a", "a1").await;
    stage.publish_unordered("u").await;
    stage.publish("parked", "p1").await;
    let parked =
        "UPDATE evenkeel_outbox_keys SET due_at = 9000000000000000, parked_at = 1 WHERE message_key = 'parked'";
    stage.sql(parked).await;
    let later =
        |table: &str, span: i64| format!("UPDATE {table} SET due_at = due_at + {span} WHERE due_at < 8000000000000000");
    for table in ["evenkeel_outbox", "evenkeel_outbox_keys"] {
        stage.sql(&later(table, 3_600_000)).await;
    }
    let relay = stage.relay(&sink);
    relay.run_once().await.unwrap();
    let far = |table: &str| {
        format!(
            "SELECT COUNT(*) FROM {table} WHERE due_at > 1 + (SELECT MAX(created_at) FROM evenkeel_outbox) + 600000 \
             AND due_at < 8000000000000000"
        )
    };
    for table in ["evenkeel_outbox", "evenkeel_outbox_keys"] {
        assert_eq!(stage.number(&far(table)).await, 0, "{table}: due within the lease of a claim");
    }
    let still = "SELECT COUNT(*) FROM evenkeel_outbox_keys WHERE due_at = 9000000000000000";
    assert_eq!(stage.number(still).await, 1, "what is parked stays parked");
    stage.due().await;
    stage.drain(&relay).await;
    assert_eq!(sink.taken().len(), 2);
    // A wait that a relay may have given is none of these.
    stage.publish_unordered("v").await;
    stage.sql(&later("evenkeel_outbox", 300_000)).await;
    let due = "SELECT MAX(due_at) FROM evenkeel_outbox WHERE state = 1";
    let before = stage.number(due).await;
    stage.relay(&sink).run_once().await.unwrap();
    assert_eq!(stage.number(due).await, before);
}

/// A relay was paused for longer than its claim, and another relay did its work. When the first one resumed, it recorded its
/// results, and overwrote later ones.
// shows: U3, hazard O4
#[tokio::test]
async fn overtaken_relay_changes_nothing() {
    let stage = Stage::set().await;
    let (slow, sink) = (Recorder::holding(), Recorder::new());
    stage.publish("a", "a1").await;
    stage.publish_unordered("u").await;
    stage.due().await;
    let sleeper = stage.relay(&slow);
    let works = tokio::spawn({
        let sleeper = sleeper.clone();
        async move { sleeper.run_once().await.unwrap() }
    });
    slow.until_called(1).await;
    stage.due().await;
    stage.drain(&stage.relay(&sink)).await;
    slow.release(1);
    slow.until_called(1).await;
    let looked = works.await.unwrap();
    assert_eq!((looked.carried, looked.fenced), (0, 1), "its claim on the unit of work had expired");
    assert_eq!((stage.outbox_rows(2).await, stage.sent("a").await), (2, 1));
}

/// The same for a key: the row of the key must not be set back to what the paused relay had sent.
// shows: U3, hazard O4
#[tokio::test]
async fn overtaken_relay_does_not_set_a_key_back() {
    let stage = Stage::set().await;
    let (slow, sink) = (Recorder::holding(), Recorder::new());
    stage.publish("a", "a1").await;
    let sleeper = stage.relay(&slow);
    let look = tokio::spawn({
        let sleeper = sleeper.clone();
        async move { sleeper.run_once().await.unwrap() }
    });
    slow.until_called(1).await;
    stage.publish("a", "a2").await;
    stage.due().await;
    stage.drain(&stage.relay(&sink)).await;
    assert_eq!(stage.sent("a").await, 2);
    slow.release(1);
    look.await.unwrap();
    assert_eq!((stage.sent("a").await, sink.sequences("a")), (2, vec![1, 2]));
    stage.publish("a", "a3").await;
    stage.drain(&stage.relay(&sink)).await;
    assert_eq!(sink.sequences("a"), [1, 2, 3]);
}

/// A message deleted by hand is not skipped: its content would be missing without notice.
// shows: U3, hazard O2
#[tokio::test]
async fn missing_message_parks_its_key() {
    let stage = Stage::set().await;
    let sink = Recorder::new();
    for words in ["a1", "a2", "a3"] {
        stage.publish("a", words).await;
    }
    stage.sql("DELETE FROM evenkeel_outbox_ordered WHERE sequence = 2").await;
    let relay = stage.relay(&sink).attempts_max(2);
    for _ in 0..4 {
        stage.due().await;
        stage.drain(&relay).await;
    }
    assert_eq!(sink.sequences("a"), [1]);
    let parked = "SELECT COUNT(*) FROM evenkeel_outbox_keys WHERE parked_at IS NOT NULL AND error LIKE '%2%missing%'";
    assert_eq!(stage.number(parked).await, 1);
}
