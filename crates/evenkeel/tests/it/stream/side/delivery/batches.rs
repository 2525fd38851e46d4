//! Handlers that get several entries at once.

use crate::stream::side::rig::{Orders, Rig, all_settled, append, billing, letters, open, reason};
use evenkeel::stream::{Batch, BatchHandled, Consumer, Group, Handled, OnFailure, RetryDelay, StreamError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

on_both! {
    full_batch_starts_at_once
    incomplete_batch_starts_after_its_wait
    each_entry_of_a_batch_has_its_own_outcome
    batch_has_one_entry_of_a_key
    batch_error_or_panic_fails_each_entry
    batch_that_hangs_is_dropped_and_retried
    batch_of_zero_or_above_the_concurrency_is_rejected
}

type Answer = Result<BatchHandled<String>, String>;

struct Case {
    batch: Batch<String>,
    answer: oneshot::Sender<Answer>,
}

impl Case {
    fn values(&self) -> Vec<&str> {
        let mut values: Vec<&str> = self.batch.entries.iter().map(|entry| entry.value.as_str()).collect();
        values.sort_unstable();
        values
    }

    fn answer(self, answer: Answer) {
        // A handler that was dropped receives no outcome.
        let _ = self.answer.send(answer);
    }
}

/// A consumer of batches of `size`; a missing outcome is a panic.
fn consumer(group: Group<String>, size: usize) -> (Consumer<String, String>, mpsc::UnboundedReceiver<Case>) {
    let (sender, cases) = mpsc::unbounded_channel();
    let consumer = group.handle_batch(size, move |batch: Batch<String>| {
        let sender = sender.clone();
        async move {
            let (answer, answered) = oneshot::channel();
            sender.send(Case { batch, answer }).map_err(|_| "the desk is closed".to_owned())?;
            answered.await.expect("the test answers")
        }
    });
    (consumer, cases)
}

fn unordered(orders: &Orders) -> Group<String> {
    orders.group("billing").unordered().retries(1).retry_delay(RetryDelay::fixed(Duration::from_secs(60)))
}

// shows: queue::Queue::consume_batch
async fn full_batch_starts_at_once(rig: Rig) {
    let orders = rig.orders(2).await;
    let (consumer, mut cases) = consumer(unordered(&orders), 3);
    let office = open(consumer.concurrency(3));
    for key in ["a", "b", "c"] {
        append(&orders, key, &[key]).await;
    }
    // The clock is frozen: only a full batch starts.
    let case = cases.recv().await.unwrap();
    assert_eq!(case.values(), ["a", "b", "c"]);
    case.answer(Ok(().into()));
    all_settled(&orders).await;
    office.close().await;
}

// shows: queue::Queue::consume_batch
async fn incomplete_batch_starts_after_its_wait(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["1", "2"]).await;
    let (consumer, mut cases) = consumer(unordered(&orders), 3);
    let office = open(consumer.fill(Duration::from_millis(250)));
    let case = rig.while_time_passes(cases.recv()).await.unwrap();
    assert_eq!(case.values(), ["1", "2"]);
    case.answer(Ok(().into()));
    office.close().await;
}

/// (S18) One failure repeated the others.
// shows: hazard X18
async fn each_entry_of_a_batch_has_its_own_outcome(rig: Rig) {
    let orders = rig.orders(1).await;
    let (consumer, mut cases) = consumer(unordered(&orders), 5);
    append(&orders, "a", &["done", "failed", "dead", "snoozed", "unanswered"]).await;
    let office = open(consumer.concurrency(5));
    let case = cases.recv().await.unwrap();
    let mut order = Vec::new();
    let mut answers = Vec::new();
    for entry in case.batch.entries.iter().filter(|entry| entry.value != "unanswered") {
        order.push(entry.value.clone());
        answers.push(match entry.value.as_str() {
            "done" => Ok(Handled::Done),
            "failed" => Err("the bank is away".to_owned()),
            "dead" => Ok(Handled::Dead("no such account".to_owned())),
            _ => Ok(Handled::Snooze(Duration::from_secs(90))),
        });
    }
    assert_eq!(order, ["done", "failed", "dead", "snoozed"], "in the order of the log, the unanswered one last");
    case.answer(Ok(answers.into()));
    while billing(&orders).await.pending() != 3 {
        tokio::task::yield_now().await;
    }
    assert_eq!(reason(&letters(&orders).await[0]), "no such account");
    let mut again = Vec::new();
    while again.len() < 3 {
        let case = rig.while_time_passes(cases.recv()).await.unwrap();
        again.extend(case.batch.entries.iter().map(|entry| (entry.value.clone(), entry.attempt)));
        case.answer(Ok(().into()));
    }
    again.sort();
    let expected =
        [("failed", 2), ("snoozed", 1), ("unanswered", 2)].map(|(value, attempt)| (value.to_owned(), attempt));
    assert_eq!(again, expected);
    rig.while_time_passes(office.close()).await;
}

async fn batch_has_one_entry_of_a_key(rig: Rig) {
    let orders = rig.orders(1).await;
    append(&orders, "a", &["a1", "a2"]).await;
    append(&orders, "b", &["b1", "b2"]).await;
    let (consumer, mut cases) = consumer(orders.group("billing").per_key(OnFailure::BlockKey), 2);
    let office = open(consumer.concurrency(4));
    for expected in [["a1", "b1"], ["a2", "b2"]] {
        let case = rig.while_time_passes(cases.recv()).await.unwrap();
        assert_eq!(case.values(), expected);
        case.answer(Ok(().into()));
    }
    all_settled(&orders).await;
    office.close().await;
}

async fn batch_error_or_panic_fails_each_entry(rig: Rig) {
    let orders = rig.orders(1).await;
    let group = orders.group("billing").unordered().retries(0);
    let (consumer, mut cases) = consumer(group, 2);
    let office = open(consumer.concurrency(2));
    append(&orders, "a", &["1", "2"]).await;
    cases.recv().await.unwrap().answer(Err("no".to_owned()));
    all_settled(&orders).await;
    append(&orders, "a", &["3", "4"]).await;
    drop(cases.recv().await.unwrap());
    all_settled(&orders).await;
    office.close().await;
    let reasons: Vec<String> = letters(&orders).await.iter().map(reason).collect();
    assert_eq!((reasons.len(), &reasons[..2]), (4, &["no".to_owned(), "no".to_owned()][..]));
    assert!(reasons[2..].iter().all(|reason| reason.starts_with("the handler panicked")), "{reasons:?}");
}

// shows: stream::Consumer::handler_timeout
async fn batch_that_hangs_is_dropped_and_retried(rig: Rig) {
    let orders = rig.orders(1).await;
    let (consumer, mut cases) = consumer(unordered(&orders), 2);
    let office = open(consumer.concurrency(2).handler_timeout(Duration::from_secs(5)));
    append(&orders, "a", &["x", "y"]).await;
    let mut case = cases.recv().await.unwrap();
    rig.while_time_passes(case.answer.closed()).await;
    let again = rig.while_time_passes(cases.recv()).await.unwrap();
    assert_eq!(again.values(), ["x", "y"]);
    again.answer(Ok(BatchHandled::All(Handled::Done)));
    all_settled(&orders).await;
    office.close().await;
    assert_eq!(letters(&orders).await.len(), 0);
}

// shows: queue::Consumer::run
async fn batch_of_zero_or_above_the_concurrency_is_rejected(rig: Rig) {
    let orders = rig.orders(1).await;
    for size in [0, 5] {
        let (consumer, _cases) = consumer(unordered(&orders), size);
        let refused = consumer.concurrency(4).run(std::future::pending()).await;
        assert!(matches!(refused, Err(StreamError::Settings { .. })), "{refused:?}");
    }
}
