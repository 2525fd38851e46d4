//! User code that misbehaves: codec, handler, policy and error text each panic, hang, block their thread, or panic while they are dropped.
//! Other entries run in the meantime, and the shutdown ends.

use super::rig::{Orders, Rig, all_settled, billing, letters, open, reason};
use crate::blocks::{block, unblock};
use evenkeel::stream::{Batch, Entry, EntryId, Handled, Reaction, Stream};
use futures_util::FutureExt;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt::{self, Display};
use std::panic::AssertUnwindSafe;
use std::time::Duration;

mod memory {
    use crate::stream::side::rig::{Rig, in_time};

    // shows: T5, hazard X15, stream::Consumer::handler_timeout
    #[tokio::test(flavor = "multi_thread", worker_threads = 8)]
    async fn misbehaving_handler_fails_only_its_entry() {
        in_time(super::misbehaving_handler_fails_only_its_entry(Rig::memory())).await;
    }

    // shows: hazard A2
    #[tokio::test(flavor = "multi_thread", worker_threads = 8)]
    async fn misbehaving_batch_does_not_delay_other_batches() {
        in_time(super::misbehaving_batch_does_not_delay_other_batches(Rig::memory())).await;
    }

    // shows: hazard A2, stream::Stream::append, stream::Stream::append_many, stream::NewEntry::append
    #[tokio::test]
    async fn panic_in_an_encoder_reaches_its_caller_and_appends_nothing() {
        in_time(super::panic_in_an_encoder_reaches_its_caller_and_appends_nothing(Rig::memory())).await;
    }
}

mod redis {
    use crate::stream::side::rig::{Rig, in_time};

    // shows: T5, hazard X15, stream::Consumer::handler_timeout
    #[tokio::test(flavor = "multi_thread", worker_threads = 8)]
    async fn misbehaving_handler_fails_only_its_entry() {
        in_time(super::misbehaving_handler_fails_only_its_entry(Rig::redis().await)).await;
    }

    // shows: hazard A2
    #[tokio::test(flavor = "multi_thread", worker_threads = 8)]
    async fn misbehaving_batch_does_not_delay_other_batches() {
        in_time(super::misbehaving_batch_does_not_delay_other_batches(Rig::redis().await)).await;
    }

    // shows: hazard A2, stream::Stream::append, stream::Stream::append_many, stream::NewEntry::append
    #[tokio::test]
    async fn panic_in_an_encoder_reaches_its_caller_and_appends_nothing() {
        in_time(super::panic_in_an_encoder_reaches_its_caller_and_appends_nothing(Rig::redis().await)).await;
    }
}

/// The behavior of user code that an entry requests, and the reason of its dead letter; empty if it is done.
pub(super) const TABLE: [(&str, &str); 12] = [
    ("fine", ""),
    ("decode panics", "undecodable: decoding panicked"),
    ("decode blocks", ""),
    ("handler panics", "the handler panicked: handler panics"),
    ("handler panics at once", "the handler panicked: handler panics at once"),
    ("handler blocks", ""),
    ("handler fails and the value panics when dropped", "panicked"),
    ("error text panics", "formatting the error panicked"),
    ("on_error panics", "`on_error` panicked"),
    ("panic payload panics when dropped", "non-string panic payload"),
    ("retry after forever and never again", "the handler asked"),
    ("handler hangs", "the handler did not end within 30s"),
];

pub(super) struct Behavior(pub(super) String);

impl Serialize for Behavior {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        assert_ne!(self.0, "encode panics", "encode panics");
        self.0.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Behavior {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            "decode panics" => panic!("decode panics"),
            "decode blocks" => block(),
            _ => {}
        }
        Ok(Self(text))
    }
}

impl Drop for Behavior {
    fn drop(&mut self) {
        if self.0 == "handler fails and the value panics when dropped" && !std::thread::panicking() {
            panic!("the value panics when dropped");
        }
    }
}

pub(super) struct Refusal(pub(super) String);

impl Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        assert_ne!(self.0, "error text panics", "on purpose");
        f.write_str(&self.0)
    }
}

struct Payload;

impl Drop for Payload {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("the payload panics when dropped");
        }
    }
}

pub(super) async fn behave(entry: Entry<Behavior>) -> Result<Handled, Refusal> {
    match entry.value.0.as_str() {
        "handler panics" => panic!("handler panics"),
        "handler blocks" => block(),
        "handler hangs" => std::future::pending().await,
        "panic payload panics when dropped" => std::panic::panic_any(Payload),
        "retry after forever and never again" => return Ok(Handled::Retry(Duration::MAX)),
        "fine" | "decode blocks" => {}
        other => return Err(Refusal(other.to_owned())),
    }
    Ok(Handled::Done)
}

// shows: T5, hazard X15, stream::Consumer::handler_timeout
async fn misbehaving_handler_fails_only_its_entry(rig: Rig) {
    let keel = rig.process().await;
    let orders: Stream<Behavior> = keel.stream("orders").partitions(2).open().await.unwrap();
    let texts: Orders = rig.orders(2).await;
    for (behavior, _) in TABLE {
        texts.append(behavior, &behavior.to_owned()).await.unwrap();
    }
    let group = orders.group("billing").unordered().retries(0);
    let consumer = group.handle(|entry: Entry<Behavior>| match entry.value.0.as_str() {
        "handler panics at once" => panic!("handler panics at once"),
        _ => behave(entry),
    });
    let limit = Duration::from_secs(30);
    let consumer = consumer.concurrency(32).drain(Duration::from_secs(1)).handler_timeout(limit).on_error(|error| {
        assert_ne!(error.0, "on_error panics", "on purpose");
        Reaction::Retry
    });
    let office = open(consumer);
    let dead = TABLE.iter().filter(|(_, reason)| !reason.is_empty()).count();
    // All but the one that hangs.
    while letters(&texts).await.len() + 1 < dead {
        tokio::task::yield_now().await;
    }
    unblock();
    while billing(&texts).await.pending() != 1 {
        tokio::task::yield_now().await;
    }
    rig.while_time_passes(all_settled(&texts)).await;
    rig.while_time_passes(office.close()).await;
    let letters = letters(&texts).await;
    for (behavior, expected) in TABLE {
        let letter = letters.iter().find(|letter| letter.key == behavior.as_bytes());
        match letter {
            None => assert_eq!(expected, "", "{behavior} is no dead letter"),
            Some(letter) => {
                let reason = reason(letter);
                assert!(!expected.is_empty() && reason.contains(expected), "{behavior}: {reason}");
            }
        }
    }
}

/// The behavior of a batch handler that its only entry requests, and the reason of its dead letter; empty if there is none.
const BATCHES: [(&str, &str); 6] = [
    ("batch hangs", ""),
    ("batch hangs and the value panics when dropped", ""),
    ("batch blocks", ""),
    ("batch panics", "the handler panicked: batch panics"),
    ("batch panics at once", "batch panics at once"),
    ("fine", ""),
];

// shows: hazard A2
async fn misbehaving_batch_does_not_delay_other_batches(rig: Rig) {
    let keel = rig.process().await;
    let orders: Stream<Behavior> = keel.stream("orders").partitions(2).open().await.unwrap();
    let texts: Orders = rig.orders(2).await;
    let group = orders.group("billing").unordered().retries(0);
    let consumer = group.handle_batch(1, |batch: Batch<Behavior>| {
        let text = batch.entries[0].value.0.clone();
        assert_ne!(text, "batch panics at once", "batch panics at once");
        async move {
            match text.as_str() {
                "batch panics" => panic!("batch panics"),
                "batch blocks" => block(),
                "fine" => unblock(),
                _ => std::future::pending().await,
            }
            drop(batch);
            Ok::<_, Refusal>(Handled::Done)
        }
    });
    let office = open(consumer.concurrency(32).drain(Duration::ZERO));
    for (behavior, _) in BATCHES {
        texts.append(behavior, &behavior.to_owned()).await.unwrap();
    }
    while letters(&texts).await.len() < 2 || billing(&texts).await.pending() != 2 {
        tokio::task::yield_now().await;
    }
    rig.while_time_passes(office.close()).await;
    assert_eq!(billing(&texts).await.pending(), 2, "those that hung are delivered again");
    for letter in letters(&texts).await {
        let (_, expected) = BATCHES.into_iter().find(|(behavior, _)| letter.key == behavior.as_bytes()).unwrap();
        let reason = reason(&letter);
        assert!(!expected.is_empty() && reason.contains(expected), "{reason}");
    }
}

// shows: hazard A2, stream::Stream::append, stream::Stream::append_many, stream::NewEntry::append
async fn panic_in_an_encoder_reaches_its_caller_and_appends_nothing(rig: Rig) {
    let orders: Stream<Behavior> = rig.process().await.stream("orders").partitions(2).open().await.unwrap();
    let (bad, fine) = (Behavior("encode panics".to_owned()), Behavior("fine".to_owned()));
    let append = async |behavior: &Behavior| orders.append("a", behavior).await.map(drop);
    assert!(AssertUnwindSafe(append(&bad)).catch_unwind().await.is_err());
    let numbered = async { orders.entry("a", &bad).numbered("billing", 1).append().await.map(drop) };
    assert!(AssertUnwindSafe(numbered).catch_unwind().await.is_err());
    // Those before it are not appended alone.
    let many = async { orders.append_many([&fine, &bad].into_iter().map(|value| orders.entry("a", value))).await };
    assert!(AssertUnwindSafe(many).catch_unwind().await.is_err());
    let appended = async || {
        let admin = orders.admin();
        let (first, second) =
            (admin.peek(0, EntryId::MIN, 10).await.unwrap(), admin.peek(1, EntryId::MIN, 10).await.unwrap());
        first.len() + second.len()
    };
    assert_eq!(appended().await, 0);
    // The number was not used.
    orders.entry("a", &fine).numbered("billing", 1).append().await.unwrap();
    append(&fine).await.unwrap();
    assert_eq!(appended().await, 2);
}
