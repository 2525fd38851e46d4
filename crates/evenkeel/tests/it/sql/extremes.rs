//! Every parameter of units of work, of their outbox and of sinks at zero, one, its bounds, just above them, and at its largest: it is accepted,
//! shortened as documented, or rejected with an error, and the next unit of work commits.

use super::rig::{Rig, Sql, in_time};
use crate::queue::side::extremes::LONGEST;
use evenkeel::Keel;
use evenkeel::queue::Queue;
use evenkeel::sql::relay::operate::{Outbox, ParkedDecision, WorkState};
use evenkeel::sql::sink::stream::Limit;
use evenkeel::sql::sink::{Confirmed, Envelope, Order, Sink, Sinks, StreamSink};
use evenkeel::sql::{Database, Message, Once, Relay, SqlError};
use evenkeel_protocol::queue::steps::Rescheduled;
use std::time::Duration;
use testkit::park::redis;

on_each! {
    extreme_effects_are_accepted_or_rejected
    outbox_queries_with_extreme_limits_end
    extreme_row_lock_timeouts_are_accepted
    message_with_the_longest_names_is_processed_once
    job_with_the_longest_delay_is_in_its_queue
}

pub(super) const SIZES: [usize; 5] = [0, 1, 255, 256, 1 << 20];

pub(super) fn spans() -> [Duration; 6] {
    let ms = Duration::from_millis;
    [Duration::ZERO, Duration::from_nanos(1), ms(1), ms(i32::MAX as u64 + 1), ms(u64::MAX), Duration::MAX]
}

/// Changes a relay's settings.
pub(super) type Change<DB> = Box<dyn Fn(Relay<DB>) -> Relay<DB>>;

/// Every setting of a relay at zero, at its bounds and at its largest.
pub(super) fn relay_settings<DB: Database>() -> Vec<(String, Change<DB>)> {
    type Set<DB> = fn(Relay<DB>, Duration) -> Relay<DB>;
    let spans: [(&str, Set<DB>); 8] = [
        ("lease", |relay, span| relay.lease(span)),
        ("deadline", |relay, span| relay.deadline(span)),
        ("backoff", |relay, span| relay.backoff(span, span)),
        ("backoff from 0", |relay, span| relay.backoff(Duration::ZERO, span)),
        ("poll", |relay, span| relay.poll(span, span)),
        ("poll down", |relay, span| relay.poll(span, Duration::ZERO)),
        ("retention", |relay, span| relay.retention(span)),
        ("unrouted_max", |relay, span| relay.unrouted_max(span)),
    ];
    let mut all: Vec<(String, Change<DB>)> = Vec::new();
    for (name, set) in spans {
        for span in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
            all.push((format!("{name} {span:?}"), Box::new(move |relay| set(relay, span))));
        }
    }
    for number in [0, 1, 256, usize::MAX] {
        all.push((format!("batch {number}"), Box::new(move |relay| relay.batch(number))));
    }
    for number in [0, 1, u32::MAX] {
        all.push((format!("attempts {number}"), Box::new(move |relay| relay.attempts_max(number))));
    }
    all
}

// shows: hazard A27
async fn extreme_effects_are_accepted_or_rejected<DB: Sql>(rig: Rig<DB>) {
    for size in SIZES {
        let text = "x".repeat(size);
        let topic = Message::new(text.clone(), "");
        for message in [topic.clone(), topic.key("k"), Message::new("links", "").key(text.clone())] {
            let mut work = rig.keel.begin(&rig.pool).await.unwrap();
            // One row of a table is at most as large as a packet of MariaDB.
            match work.publish(message.clone().header(text.clone(), text.clone()).header("", "\0")) {
                Ok(()) => drop(work.commit().await.unwrap()),
                Err(error) => assert!(matches!(error, SqlError::Effect(_)), "{size}: {error}"),
            }
        }
        for trace in [text.clone(), "\0".repeat(size), "\u{1f980}".repeat(size)] {
            let mut work = rig.keel.begin(&rig.pool).await.unwrap();
            work.trace(&trace);
            work.enqueue(rig.mail.job(&"letter".to_owned())).unwrap();
            work.publish(Message::new("links", "")).unwrap();
            work.commit().await.unwrap();
        }
    }
    for version in [0, 1, 1 << 53, u64::MAX] {
        let mut work = rig.keel.begin(&rig.pool).await.unwrap();
        work.invalidate_at(&rig.stock, &1, version).unwrap();
        assert!(work.commit().await.unwrap().carried_out, "{version}");
    }
}

// shows: hazard A27
async fn outbox_queries_with_extreme_limits_end<DB: Sql>(rig: Rig<DB>) {
    let outbox = Outbox::new(&rig.pool);
    for key in ["a", "b"] {
        let mut work = rig.keel.begin(&rig.pool).await.unwrap();
        work.publish(Message::new("links", "").key(key)).unwrap();
        work.publish(Message::new("links", "")).unwrap();
        work.commit().await.unwrap();
    }
    for limit in [0, 1, 2, usize::MAX >> 1, usize::MAX] {
        let works = outbox.units(WorkState::Waiting, None, limit).await.unwrap();
        assert_eq!(works.len(), limit.min(2), "{limit}");
        let keys = outbox.keys(false, (String::new(), String::new()), limit).await.unwrap();
        assert_eq!(keys.len(), limit.min(2), "{limit}");
        let none = outbox.keys(true, ("x".repeat(1 << 20), String::new()), limit).await.unwrap();
        assert!(none.is_empty(), "{limit}");
    }
    for age in spans() {
        assert_eq!(outbox.purge(age).await.unwrap(), 0, "{age:?}");
    }
    for size in SIZES {
        for how in [ParkedDecision::Resend, ParkedDecision::Skip] {
            assert!(!outbox.release_key(&"x".repeat(size), &"y".repeat(size), how).await.unwrap(), "{size}");
        }
    }
}

// shows: hazard A27
async fn extreme_row_lock_timeouts_are_accepted<DB: Sql>(rig: Rig<DB>) {
    for span in spans() {
        let begun = rig.keel.begin_locking(&rig.pool, span).await;
        match begun {
            Ok(mut work) => {
                assert_eq!(
                    DB::number(work.tx().unwrap(), "SELECT units FROM stock WHERE id = 1").await.unwrap(),
                    Some(10)
                );
                work.commit().await.unwrap();
            }
            // SQLite's wait is one for the beginning itself.
            Err(error) => {
                assert!(matches!(error, SqlError::Busy(_)) && span < Duration::from_secs(1), "{span:?}: {error}");
            }
        }
    }
}

/// The id of such a message was longer than a name in an inbox may be: its reader could never process it.
// shows: hazard A29a
async fn message_with_the_longest_names_is_processed_once<DB: Sql>(rig: Rig<DB>) {
    let stream = StreamSink::new(&rig.keel);
    let longest = "x".repeat(255);
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    for key in [longest.clone(), format!("y{}", &longest[1..])] {
        for _ in 0..2 {
            work.publish(Message::new(longest.clone(), "").key(key.clone())).unwrap();
        }
    }
    work.commit().await.unwrap();
    rig.keel.relay(&rig.pool).sinks(Sinks::to(stream.clone())).run_once().await.unwrap();
    let entries = stream.entries(&longest, None, usize::MAX).await.unwrap();
    assert_eq!(entries.len(), 4);
    let mut transaction = rig.pool.begin().await.unwrap();
    for expected in [Once::Fresh, Once::Seen] {
        for entry in &entries {
            let once = rig.keel.inbox(&rig.pool).once(&mut transaction, "reader", &entry.message.id).await;
            assert_eq!(once.unwrap(), expected, "{}", entry.message.id);
        }
    }
    transaction.commit().await.unwrap();
}

/// It was due later than a store accepts, so the effect was refused after its commit until it was parked, and so was the job of a row.
// shows: hazard A29b
async fn job_with_the_longest_delay_is_in_its_queue<DB: Sql>(rig: Rig<DB>) {
    let body = "late".to_owned();
    let mut work = rig.keel.begin(&rig.pool).await.unwrap();
    let id = work.enqueue(rig.mail.job(&body).delay(LONGEST)).unwrap();
    assert!(work.commit().await.unwrap().carried_out);
    assert!(rig.mail.find(&id).await.unwrap().is_some());
    let rows: Queue<String> = rig.keel.queue("rows").sql(&rig.pool).open().await.unwrap();
    let sent = rows.job(&body).delay(LONGEST).enqueue().await.unwrap();
    assert_eq!(rows.reschedule_in(&sent.id, LONGEST).await.unwrap(), Rescheduled::Changed);
    rows.sweep_once().await.unwrap();
    let (steps, shard) = rows.steps(&sent.id);
    assert!(steps.job(&shard, sent.id).await.unwrap().is_some(), "the store has it");
}

fn message(sequence: u64) -> Envelope {
    Envelope {
        source: "shop".to_owned(),
        id: sequence.to_string(),
        topic: "links".to_owned(),
        order: Some(Order { key: "a".to_owned(), sequence }),
        payload: "payload".into(),
        headers: Vec::new(),
    }
}

/// The longest deduplication window overflowed in memory; Redis rejected it, and with it every message. It also rejected messages
/// with the longest limit.
async fn stream_at_its_extremes(keel: Keel) {
    let (sink, mut sequence) = (StreamSink::new(&keel), 0);
    for span in spans() {
        let sink = sink.clone().deduplication_window(span);
        sequence += 1;
        assert_eq!(sink.publish(&message(sequence)).await, Ok(Confirmed::Accepted), "{span:?}");
    }
    for length in [0, 1, 1 << 20, 1 << 52, i64::MAX as u64, u64::MAX] {
        sequence += 1;
        let trims = sink.clone().limit(Limit::TrimOldest(length));
        assert_eq!(trims.publish(&message(sequence)).await, Ok(Confirmed::Accepted), "{length}");
        let refuses = sink.clone().limit(Limit::Refuse(length));
        let copy = refuses.publish(&message(sequence)).await;
        assert_eq!(copy, Ok(Confirmed::Duplicate), "{length}");
    }
    sink.publish(&message(sequence + 1)).await.unwrap();
    for limit in [0, 1, usize::MAX >> 1, usize::MAX] {
        let entries = sink.entries("links", None, limit).await.unwrap();
        assert_eq!(entries.is_empty(), limit == 0, "{limit}");
        assert!(entries.len() <= limit, "{limit}");
    }
    assert!(sink.entries(&"x".repeat(1 << 20), None, 1).await.unwrap().is_empty());
}

// shows: hazard A27
#[tokio::test]
async fn stream_in_memory_accepts_extreme_messages() {
    in_time(stream_at_its_extremes(Keel::memory())).await;
}

// shows: hazard A27
#[tokio::test]
async fn stream_on_redis_accepts_extreme_messages() {
    let shared = redis().await.unwrap();
    let keel = Keel::connect(&format!("{}?prefix={}", shared.url, shared.prefix)).await.unwrap();
    in_time(stream_at_its_extremes(keel)).await;
}
