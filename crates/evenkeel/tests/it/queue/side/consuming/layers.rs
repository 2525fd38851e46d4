//! Layers of tower around a handler.

use super::leases::supersede;
use crate::queue::side::desk::{Desk, Office};
use crate::queue::side::rig::{Mail, Rig, ended, state};
use evenkeel::queue::{Batch, Consumer, Delivery, Handled, JobId, Priority, QueueError, Reaction};
use evenkeel_protocol::queue::steps::{Found, State};
use std::convert::Infallible;
use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use tokio::sync::oneshot;
use tower::layer::util::Identity;
use tower::limit::ConcurrencyLimitLayer;
use tower::timeout::TimeoutLayer;

on_both! {
    timeout_layer_fails_the_attempt
    on_error_receives_the_error_of_a_layer
    concurrency_limit_layer_delays_deliveries_within_leases
    lost_lease_drops_the_layered_handler
    unusable_layers_are_rejected
}

fn run<E: Display + Send + 'static>(consumer: Consumer<String, E>) -> Office {
    crate::queue::side::desk::open_any(consumer)
}

async fn errors(mail: &Mail, id: &JobId) -> (State, Vec<String>) {
    let Some(Found::Live { state, job, .. }) = mail.find(id).await.unwrap() else { panic!("it is gone") };
    let words = job.error_notes().map(|note| String::from_utf8_lossy(&note.text).into_owned());
    (state, words.collect())
}

/// A handler that hangs holds its slot forever.
async fn timeout_layer_fails_the_attempt(rig: Rig) {
    let mail = rig.mail().await;
    let consumer = mail.consume(|_: Delivery<String>| std::future::pending::<Result<(), io::Error>>());
    // The layer's own timer runs on the machine's clock.
    let office = run(consumer.layer(TimeoutLayer::new(Duration::from_millis(5))));
    let id = mail.now(&"hangs".to_owned()).await.unwrap();
    while state(&mail, &id).await != Some(State::Waiting(Priority::Normal)) || errors(&mail, &id).await.1.is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(errors(&mail, &id).await.1, ["request timed out"]);
    office.close().await;
}

async fn on_error_receives_the_error_of_a_layer(rig: Rig) {
    let mail = rig.mail().await;
    let consumer = mail.consume(|_: Delivery<String>| std::future::pending::<Result<(), io::Error>>());
    let consumer = consumer.layer(TimeoutLayer::new(Duration::from_millis(5)));
    let office = run(consumer
        .on_error(|error| if error.is::<tower::timeout::error::Elapsed>() { Reaction::Dead } else { Reaction::Retry }));
    let id = mail.now(&"hangs".to_owned()).await.unwrap();
    while state(&mail, &id).await != Some(State::Dead) {
        tokio::task::yield_now().await;
    }
    assert_eq!(errors(&mail, &id).await, (State::Dead, vec!["request timed out".to_owned()]));
    office.close().await;
}

async fn concurrency_limit_layer_delays_deliveries_within_leases(rig: Rig) {
    let mail = rig.mail().await;
    let desk = Desk::new();
    let office = run(desk.consumer(&mail).layer(ConcurrencyLimitLayer::new(1)).layer(Identity::new()));
    let ids = [mail.now(&"first".to_owned()).await.unwrap(), mail.now(&"second".to_owned()).await.unwrap()];
    let first = desk.next().await;
    while state(&mail, &ids[1]).await != Some(State::Leased) {
        tokio::task::yield_now().await;
    }
    // Longer than a lease. Both leases are extended, also that of the delivery that waits for the limit.
    let expired = async {
        for _ in 0..40 {
            rig.advance(Duration::from_secs(1)).await;
            tokio::task::yield_now().await;
        }
    };
    rig.while_time_passes(expired).await;
    assert!(desk.next_at_once().await.is_none(), "the limit is one");
    assert_eq!(first.delivery.body, "first");
    first.answer(Ok(Handled::Done));
    assert_eq!(desk.done().await, "second");
    for id in &ids {
        ended(&mail, id).await;
    }
    office.close().await;
}

/// Counts the calls that were begun and not ended.
struct Inside(Arc<AtomicUsize>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

async fn lost_lease_drops_the_layered_handler(rig: Rig) {
    let mail = rig.mail().await;
    let inside = Arc::new(AtomicUsize::new(0));
    let (began, has_begun) = oneshot::channel();
    let began = std::sync::Mutex::new(Some(began));
    let count = Arc::clone(&inside);
    let consumer = mail.consume(move |delivery: Delivery<String>| {
        let is_first = delivery.body == "older";
        if is_first {
            count.fetch_add(1, SeqCst);
        }
        let guard = is_first.then(|| Inside(Arc::clone(&count)));
        let began = began.lock().unwrap().take();
        async move {
            if let Some(guard) = guard {
                let _ = began.map(|began| began.send(delivery.cancellation()));
                std::future::pending::<()>().await;
                drop(guard);
            }
            Ok::<_, io::Error>(())
        }
    });
    let layered = consumer.layer(TimeoutLayer::new(Duration::from_secs(3600))).layer(ConcurrencyLimitLayer::new(2));
    let office = run(layered);
    let id = mail.now(&"older".to_owned()).await.unwrap();
    let cancellation = has_begun.await.unwrap();
    supersede(&mail, id).await;
    rig.while_time_passes(cancellation.cancelled()).await;
    while inside.load(SeqCst) > 0 {
        tokio::task::yield_now().await;
    }
    ended(&mail, &id).await;
    office.close().await;
}

// shows: queue::Consumer::run
async fn unusable_layers_are_rejected(rig: Rig) {
    let mail = rig.mail().await;
    let too_late = mail.consume(|_: Delivery<String>| async { Ok::<_, Infallible>(()) }).on_error(|_| Reaction::Dead);
    let refused = too_late.layer(Identity::new()).run(std::future::pending()).await;
    assert!(matches!(&refused, Err(QueueError::Settings { reason, .. }) if reason.contains("on_error")), "{refused:?}");
    let batch = mail.consume_batch(2, |_: Batch<String>| async { Ok::<_, Infallible>(()) });
    let refused = batch.layer(Identity::new()).run(std::future::pending()).await;
    assert!(matches!(&refused, Err(QueueError::Settings { reason, .. }) if reason.contains("batch")), "{refused:?}");
}
