//! User code that misbehaves: codec, handler, policy, error text, layer and batch handler each panic, hang, block their thread, panic
//! while they are dropped, or answer an extreme. Other jobs run in the meantime, and the shutdown ends.

use crate::blocks::{block, unblock};
use crate::queue::side::desk::{Desk, open, open_any};
use crate::queue::side::rig::{Mail, Rig, state};
use evenkeel::queue::{Batch, BatchHandled, Delivery, Handled, HandlerService, JobId, Priority, Queue, Reaction};
use evenkeel_protocol::queue::steps::{Found, Rescheduled, State};
use futures_util::FutureExt;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::future::{Future, pending};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{Layer, Service};

mod memory {
    use crate::queue::side::rig::{Rig, in_time};

    // shows: hazard A2
    #[tokio::test(flavor = "multi_thread", worker_threads = 8)]
    async fn misbehaving_handler_fails_only_its_attempt() {
        in_time(super::misbehaving_handler_fails_only_its_attempt(Rig::memory())).await;
    }

    // shows: hazard A2
    #[tokio::test(flavor = "multi_thread", worker_threads = 8)]
    async fn misbehaving_handler_in_a_batch_fails_only_its_delivery() {
        in_time(super::misbehaving_handler_in_a_batch_fails_only_its_delivery(Rig::memory())).await;
    }

    // shows: hazard A2
    #[tokio::test(flavor = "multi_thread", worker_threads = 8)]
    async fn misbehaving_batch_does_not_delay_other_batches() {
        in_time(super::misbehaving_batch_does_not_delay_other_batches(Rig::memory())).await;
    }

    // shows: hazard A2
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn shutdown_does_not_wait_for_attempts_that_panicked() {
        in_time(super::shutdown_does_not_wait_for_attempts_that_panicked(Rig::memory())).await;
    }

    // shows: hazard A2
    #[tokio::test]
    async fn panic_in_an_encoder_reaches_its_caller_and_changes_nothing() {
        in_time(super::panic_in_an_encoder_reaches_its_caller_and_changes_nothing(Rig::memory())).await;
    }
}

mod redis {
    use crate::queue::side::rig::{Rig, in_time};

    // shows: hazard A2
    #[tokio::test(flavor = "multi_thread", worker_threads = 8)]
    async fn misbehaving_handler_fails_only_its_attempt() {
        in_time(super::misbehaving_handler_fails_only_its_attempt(Rig::redis().await)).await;
    }

    // shows: hazard A2
    #[tokio::test(flavor = "multi_thread", worker_threads = 8)]
    async fn misbehaving_handler_in_a_batch_fails_only_its_delivery() {
        in_time(super::misbehaving_handler_in_a_batch_fails_only_its_delivery(Rig::redis().await)).await;
    }

    // shows: hazard A2
    #[tokio::test(flavor = "multi_thread", worker_threads = 8)]
    async fn misbehaving_batch_does_not_delay_other_batches() {
        in_time(super::misbehaving_batch_does_not_delay_other_batches(Rig::redis().await)).await;
    }

    // shows: hazard A2
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn shutdown_does_not_wait_for_attempts_that_panicked() {
        in_time(super::shutdown_does_not_wait_for_attempts_that_panicked(Rig::redis().await)).await;
    }

    // shows: hazard A2
    #[tokio::test]
    async fn panic_in_an_encoder_reaches_its_caller_and_changes_nothing() {
        in_time(super::panic_in_an_encoder_reaches_its_caller_and_changes_nothing(Rig::redis().await)).await;
    }
}

const WAITING: Option<State> = Some(State::Waiting(Priority::Normal));
const DEAD: Option<State> = Some(State::Dead);
/// The job has ended.
const DONE: Option<State> = None;

/// The behavior of user code that a job's body requests, the final state of the job, and the last error of its history.
pub(in crate::queue::side) const TABLE: [(&str, Option<State>, &str); 19] = [
    ("fine", DONE, ""),
    ("decode panics", DEAD, "undecodable: decoding panicked"),
    ("decode blocks", DONE, ""),
    ("handler panics", DEAD, "the handler panicked: handler panics"),
    ("handler panics at once", DEAD, "handler panics at once"),
    ("handler hangs", WAITING, ""),
    ("handler blocks", DONE, ""),
    ("handler fails and the body panics when dropped", DEAD, "panicked"),
    ("body panics when dropped", DEAD, "panicked: body panics when dropped"),
    ("handler hangs and the body panics when dropped", WAITING, ""),
    ("policy panics", DEAD, "policy panics (`on_error` panicked: on purpose)"),
    ("policy blocks", DEAD, "policy blocks"),
    ("text panics", DEAD, "formatting the error panicked"),
    ("layer panics", DEAD, "layer panics"),
    ("layer hangs", WAITING, ""),
    ("endless snooze", WAITING, ""),
    ("retry much later", DEAD, "asked for another attempt"),
    ("long reason", DEAD, "rrrr"),
    ("impossible fence", DEAD, "above the highest that a delivery can have"),
];

/// A body that may panic when it is encoded, panic or block when it is decoded, and panic when it is dropped.
pub(in crate::queue::side) struct Body(pub(in crate::queue::side) String);

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        assert_ne!(self.0, "encode panics", "encode panics");
        self.0.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        assert_ne!(text, "decode panics", "decode panics");
        if text == "decode blocks" {
            block();
        }
        Ok(Self(text))
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if self.0.contains("body panics when dropped") && !std::thread::panicking() {
            panic!("body panics when dropped");
        }
    }
}

/// An error whose text may panic.
#[derive(Debug)]
pub(in crate::queue::side) struct Oops(pub(in crate::queue::side) String);

impl Display for Oops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        assert_ne!(self.0, "text panics", "on purpose");
        f.write_str(&self.0)
    }
}

pub(in crate::queue::side) fn classify(error: &Oops) -> Reaction {
    match error.0.as_str() {
        "policy panics" => panic!("on purpose"),
        "policy blocks" => block(),
        _ => {}
    }
    Reaction::Retry
}

pub(in crate::queue::side) async fn handle(delivery: Delivery<Body>) -> Result<Handled, Oops> {
    let text = delivery.body.0.clone();
    match text.as_str() {
        "handler panics" => panic!("{text}"),
        "handler blocks" => block(),
        // The neighbors of blocking jobs are served.
        "fine" => unblock(),
        "endless snooze" => return Ok(Handled::Snooze(Duration::MAX)),
        "retry much later" => return Ok(Handled::Retry(Duration::MAX)),
        "long reason" => return Ok(Handled::Dead("r".repeat(1 << 20))),
        "impossible fence" => return Ok(Handled::FenceSeen(u64::MAX)),
        text if text.starts_with("handler hangs") => pending().await,
        text if text.starts_with("policy") || text.starts_with("text") || text.starts_with("handler fails") => {
            return Err(Oops(text.to_owned()));
        }
        _ => {}
    }
    Ok(Handled::Done)
}

/// A layer that panics or hangs.
pub(in crate::queue::side) struct Hostile;

#[derive(Clone)]
pub(in crate::queue::side) struct HostileService(HandlerService<Body, Oops>);

impl Layer<HandlerService<Body, Oops>> for Hostile {
    type Service = HostileService;

    fn layer(&self, inner: HandlerService<Body, Oops>) -> HostileService {
        HostileService(inner)
    }
}

impl Service<Delivery<Body>> for HostileService {
    type Response = Handled;
    type Error = Oops;
    type Future = Pin<Box<dyn Future<Output = Result<Handled, Oops>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Oops>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, delivery: Delivery<Body>) -> Self::Future {
        assert_ne!(delivery.body.0, "layer panics", "layer panics");
        if delivery.body.0 == "layer hangs" { Box::pin(pending()) } else { self.0.call(delivery) }
    }
}

/// Sends one job per row, and returns their ids.
async fn send(mail: &Mail) -> BTreeMap<&'static str, JobId> {
    let mut ids = BTreeMap::new();
    for (body, ..) in TABLE {
        ids.insert(body, mail.now(&body.to_owned()).await.unwrap());
    }
    ids
}

pub(in crate::queue::side) async fn history(mail: &Mail, id: &JobId) -> String {
    match mail.find(id).await.unwrap() {
        Some(Found::Live { job, .. }) => {
            job.error_notes().map(|note| String::from_utf8_lossy(&note.text).into_owned()).collect()
        }
        _ => String::new(),
    }
}

/// Waits until all jobs that can end have ended, so that only hanging ones run.
async fn until_settled(mail: &Mail, ids: &BTreeMap<&'static str, JobId>) {
    for (body, expected, _) in TABLE {
        while !body.contains("hangs") && state(mail, &ids[body]).await != expected {
            tokio::task::yield_now().await;
        }
    }
}

async fn check(mail: &Mail, ids: &BTreeMap<&'static str, JobId>) {
    for (body, expected, words) in TABLE {
        let history = history(mail, &ids[body]).await;
        assert_eq!(state(mail, &ids[body]).await, expected, "{body}: {history}");
        assert!(history.contains(words), "{body}: {history}");
    }
}

// shows: hazard A2
async fn misbehaving_handler_fails_only_its_attempt(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.retries(0)).await;
    let ids = send(&mail).await;
    let hostile: Queue<Body> = rig.process().await.queue("mail").open().await.unwrap();
    let consumer = hostile.consume(|delivery: Delivery<Body>| {
        assert_ne!(delivery.body.0, "handler panics at once", "handler panics at once");
        handle(delivery)
    });
    let consumer = consumer.concurrency(TABLE.len()).layer(Hostile).on_error(classify).drain(Duration::ZERO);
    let office = open_any(consumer);
    until_settled(&mail, &ids).await;
    office.close().await;
    check(&mail, &ids).await;
}

/// Time does not pass, so that a consumer that counts a panicked attempt as running waits forever.
// shows: hazard A2
async fn shutdown_does_not_wait_for_attempts_that_panicked(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.retries(0)).await;
    let hostile: Queue<Body> = rig.process().await.queue("mail").open().await.unwrap();
    let consumer = hostile.consume(|delivery: Delivery<Body>| {
        assert_ne!(delivery.body.0, "handler panics at once", "handler panics at once");
        handle(delivery)
    });
    let consumer = consumer.layer(Hostile).on_error(classify).drain(Duration::from_secs(3_600));
    let office = open_any(consumer);
    for (body, ..) in TABLE.iter().filter(|(body, ..)| body.contains("panics") && !body.contains("hangs")) {
        let id = mail.now(&(*body).to_owned()).await.unwrap();
        while state(&mail, &id).await != DEAD {
            tokio::task::yield_now().await;
        }
    }
    office.close().await;
}

// shows: hazard A2
async fn misbehaving_handler_in_a_batch_fails_only_its_delivery(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.retries(0)).await;
    let texts = ["text panics", "policy panics", "no answer", "fine"];
    let mut ids = Vec::new();
    for text in texts {
        ids.push(mail.now(&text.to_owned()).await.unwrap());
    }
    let hostile: Queue<Body> = rig.process().await.queue("mail").open().await.unwrap();
    let consumer = hostile.consume_batch(texts.len(), |batch: Batch<Body>| async move {
        let bodies = batch.deliveries.iter().map(|delivery| delivery.body.0.clone());
        Ok::<_, Oops>(BatchHandled::Each(
            bodies.map(|text| if text == "fine" { Ok(Handled::Done) } else { Err(Oops(text)) }).collect(),
        ))
    });
    let office = open_any(consumer.on_error(classify).drain(Duration::ZERO));
    // Each delivery is settled by its own attempt, in any order.
    rig.while_time_passes(async {
        for (text, id) in texts.iter().zip(&ids) {
            while state(&mail, id).await != if *text == "fine" { DONE } else { DEAD } {
                tokio::task::yield_now().await;
            }
        }
    })
    .await;
    office.close().await;

    // A handler that panics fails its batch and no other job.
    let panics = hostile.consume_batch(1, |batch: Batch<Body>| async move {
        let text = batch.deliveries[0].body.0.clone();
        assert_eq!(text, "fine", "on purpose");
        Ok::<_, Oops>(Handled::Done)
    });
    let office = open_any(panics.drain(Duration::ZERO));
    let bad = mail.now(&"bad".to_owned()).await.unwrap();
    let fine = mail.now(&"fine".to_owned()).await.unwrap();
    rig.while_time_passes(async {
        while state(&mail, &fine).await.is_some() || state(&mail, &bad).await != DEAD {
            tokio::task::yield_now().await;
        }
    })
    .await;
    office.close().await;
    assert!(history(&mail, &bad).await.contains("on purpose"));
}

/// The behavior of a batch handler that the body of its only delivery requests, the final state of the job, and its last error.
const BATCHES: [(&str, Option<State>, &str); 6] = [
    ("fine", DONE, ""),
    ("batch hangs", WAITING, ""),
    ("batch hangs and the body panics when dropped", WAITING, ""),
    ("batch blocks", DONE, ""),
    ("batch panics", DEAD, "the handler panicked: batch panics"),
    ("batch panics at once", DEAD, "batch panics at once"),
];

// shows: hazard A2
async fn misbehaving_batch_does_not_delay_other_batches(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.retries(0)).await;
    let hostile: Queue<Body> = rig.process().await.queue("mail").open().await.unwrap();
    let consumer = hostile.consume_batch(1, |batch: Batch<Body>| {
        let text = batch.deliveries[0].body.0.clone();
        assert_ne!(text, "batch panics at once", "batch panics at once");
        async move {
            match text.as_str() {
                "batch panics" => panic!("batch panics"),
                "batch blocks" => block(),
                "fine" => unblock(),
                _ => pending().await,
            }
            drop(batch);
            Ok::<_, Oops>(Handled::Done)
        }
    });
    let office = open_any(consumer.concurrency(BATCHES.len()).drain(Duration::ZERO));
    let mut ids = BTreeMap::new();
    // The last one, which releases the blocked thread, is served while the others hang.
    for (body, ..) in BATCHES.iter().rev() {
        ids.insert(*body, mail.now(&(*body).to_owned()).await.unwrap());
    }
    for (body, expected, _) in BATCHES {
        while !body.contains("hangs") && state(&mail, &ids[body]).await != expected {
            tokio::task::yield_now().await;
        }
    }
    office.close().await;
    for (body, expected, words) in BATCHES {
        let history = history(&mail, &ids[body]).await;
        assert_eq!(state(&mail, &ids[body]).await, expected, "{body}: {history}");
        assert!(history.contains(words), "{body}: {history}");
    }
}

/// Whether this call panics.
async fn panic_of<T>(call: impl Future<Output = T>) -> bool {
    AssertUnwindSafe(call).catch_unwind().await.is_err()
}

// shows: hazard A2
async fn panic_in_an_encoder_reaches_its_caller_and_changes_nothing(rig: Rig) {
    let mail = rig.mail().await;
    let hostile: Queue<Body> = rig.process().await.queue("mail").open().await.unwrap();
    let (bad, fine) = (Body("encode panics".to_owned()), Body("fine".to_owned()));
    let waiting = hostile.delay(Duration::from_secs(60), &fine).await.unwrap();
    assert!(panic_of(async { hostile.now(&bad).await }).await);
    assert!(panic_of(async { hostile.delay(Duration::from_secs(1), &bad).await }).await);
    assert!(panic_of(async { hostile.job(&bad).id("bad").enqueue().await }).await);
    // Those before it are not sent alone.
    assert!(panic_of(async { hostile.enqueue_all([&fine, &bad].map(|body| hostile.job(body))).await }).await);
    assert!(
        panic_of(async { hostile.enqueue_all([&fine, &bad].into_iter().map(|body| hostile.job(body))).await }).await
    );
    assert!(panic_of(async { hostile.edit(&waiting, &bad).await }).await);
    let stats = mail.topic().stats().await.unwrap();
    assert_eq!((stats.total.waiting(), stats.total.leased, stats.total.dead), (1, 0, 0), "nothing was sent");
    let Some(Found::Live { job, .. }) = mail.find(&waiting).await.unwrap() else { panic!("the job waits") };
    assert_eq!(&job.spec.body[..], b"\"fine\"");
    // The same handle can still be used.
    assert_eq!(hostile.edit(&waiting, &Body("other".to_owned())).await.unwrap(), Rescheduled::Changed);
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    hostile.now(&fine).await.unwrap();
    assert_eq!(desk.done().await, "fine");
    office.close().await;
}
