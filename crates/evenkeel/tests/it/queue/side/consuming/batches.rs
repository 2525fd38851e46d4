//! Handlers that get several deliveries at once.

use super::leases::supersede;
use super::suspects::crashed;
use crate::queue::side::desk::{Office, open};
use crate::queue::side::rig::{Mail, Rig, ended, state};
use evenkeel::queue::{Batch, BatchHandled, Consumer, Handled, JobId, Priority, QueueError};
use evenkeel_protocol::queue::steps::{Found, State};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

on_both! {
    full_batch_starts_at_once
    incomplete_batch_starts_after_its_wait
    each_delivery_of_a_batch_has_its_own_outcome
    batch_error_or_panic_fails_each_delivery
    batches_claim_no_more_than_the_free_slots
    lost_delivery_does_not_affect_its_batch
    batch_whose_leases_are_all_lost_is_dropped
    crashed_job_runs_in_a_batch_of_one
    batch_that_hangs_is_dropped_and_retried
    drain_starts_the_incomplete_batch
    batch_not_done_at_shutdown_is_released
    batch_of_zero_or_above_the_concurrency_is_rejected
}

const WAITING: Option<State> = Some(State::Waiting(Priority::Normal));

type Answer = Result<BatchHandled<String>, String>;

/// A batch whose handler waits.
struct Case {
    batch: Batch<String>,
    answer: oneshot::Sender<Answer>,
}

impl Case {
    fn bodies(&self) -> Vec<&str> {
        let mut bodies: Vec<&str> = self.batch.deliveries.iter().map(|delivery| delivery.body.as_str()).collect();
        bodies.sort_unstable();
        bodies
    }

    fn answer(self, answer: Answer) {
        // A handler that was dropped receives no outcome.
        let _ = self.answer.send(answer);
    }

    fn done(self) {
        self.answer(Ok(().into()));
    }
}

/// A consumer of batches of `size`; a missing outcome is a panic.
fn consumer(mail: &Mail, size: usize) -> (Consumer<String, String>, mpsc::UnboundedReceiver<Case>) {
    let (sender, cases) = mpsc::unbounded_channel();
    let consumer = mail.consume_batch(size, move |batch: Batch<String>| {
        let sender = sender.clone();
        async move {
            let (answer, answered) = oneshot::channel();
            sender.send(Case { batch, answer }).map_err(|_| "the desk is closed".to_owned())?;
            answered.await.expect("the test answers")
        }
    });
    (consumer, cases)
}

fn office(mail: &Mail, size: usize, slots: usize) -> (Office, mpsc::UnboundedReceiver<Case>) {
    let (consumer, cases) = consumer(mail, size);
    (open(consumer.concurrency(slots)), cases)
}

async fn send(mail: &Mail, bodies: &[&str]) -> Vec<JobId> {
    let bodies: Vec<String> = bodies.iter().map(|body| (*body).to_owned()).collect();
    let sent = mail.enqueue_all(bodies.iter().map(|body| mail.job(body))).await.unwrap();
    sent.into_iter().map(|sent| sent.id).collect()
}

/// Waits until these are leased, without letting time pass.
async fn leased(mail: &Mail, ids: &[JobId]) {
    for id in ids {
        while state(mail, id).await != Some(State::Leased) {
            tokio::task::yield_now().await;
        }
    }
}

// shows: queue::Queue::consume_batch
async fn full_batch_starts_at_once(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.shards(2)).await;
    // The clock is frozen: only a full batch starts.
    let (office, mut cases) = office(&mail, 3, 3);
    let ids = send(&mail, &["a", "b", "c"]).await;
    let case = cases.recv().await.unwrap();
    assert_eq!(case.bodies(), ["a", "b", "c"]);
    let fences: Vec<u64> = case.batch.deliveries.iter().map(|delivery| delivery.fence).collect();
    assert!(fences.iter().all(|fence| *fence > 0), "{fences:?}");
    case.done();
    for id in &ids {
        ended(&mail, id).await;
    }
    office.close().await;
}

/// A batch that waits until it is full keeps its first job forever when no second one arrives.
// shows: queue::Queue::consume_batch
async fn incomplete_batch_starts_after_its_wait(rig: Rig) {
    let mail = rig.mail().await;
    let (consumer, mut cases) = consumer(&mail, 3);
    let office = open(consumer.concurrency(3).fill(Duration::from_millis(250)));
    let ids = send(&mail, &["a", "b"]).await;
    leased(&mail, &ids).await;
    assert!(cases.try_recv().is_err(), "it waits for a third");
    let case = rig.while_time_passes(cases.recv()).await.unwrap();
    assert_eq!(case.bodies(), ["a", "b"]);
    case.done();
    office.close().await;
}

async fn each_delivery_of_a_batch_has_its_own_outcome(rig: Rig) {
    let mail = rig.mail().await;
    let (office, mut cases) = office(&mail, 5, 5);
    let ids = send(&mail, &["done", "failed", "dead", "snoozed", "unanswered"]).await;
    let case = cases.recv().await.unwrap();
    let snooze = Duration::from_secs(60);
    let mut answers = Vec::new();
    let mut order = Vec::new();
    for delivery in case.batch.deliveries.iter().filter(|delivery| delivery.body != "unanswered") {
        order.push(delivery.body.clone());
        answers.push(match delivery.body.as_str() {
            "done" => Ok(Handled::Done),
            "failed" => Err("the mail server is away".to_owned()),
            "dead" => Ok(Handled::Dead("no such address".to_owned())),
            _ => Ok(Handled::Snooze(snooze)),
        });
    }
    assert_eq!(
        order,
        ["done", "failed", "dead", "snoozed"],
        "they come in the order of the queue, the unanswered one last"
    );
    case.answer(Ok(answers.into()));
    ended(&mail, &ids[0]).await;
    office.close().await;
    let now = rig.now_ms();
    let found = |id: JobId| {
        let mail = mail.clone();
        async move {
            let Some(Found::Live { state, score, job }) = mail.find(&id).await.unwrap() else { panic!("it is gone") };
            let words =
                job.error_notes().map(|note| String::from_utf8_lossy(&note.text).into_owned()).collect::<Vec<_>>();
            (Some(state), score, words.concat())
        }
    };
    let (failed, _, words) = found(ids[1]).await;
    assert_eq!((failed, words.as_str()), (WAITING, "the mail server is away"));
    let (dead, _, words) = found(ids[2]).await;
    assert_eq!((dead, words.as_str()), (Some(State::Dead), "no such address"));
    let (snoozed, due, words) = found(ids[3]).await;
    assert_eq!((snoozed, due, words.as_str()), (WAITING, now + 60_000, ""));
    let (unanswered, _, words) = found(ids[4]).await;
    assert_eq!((unanswered, words.as_str()), (WAITING, "the handler returned no result for this delivery"));
}

async fn batch_error_or_panic_fails_each_delivery(rig: Rig) {
    for (answer, words) in [(Some("no"), "no"), (None, "the handler panicked")] {
        let mail = rig.mail().await;
        let (office, mut cases) = office(&mail, 2, 2);
        let ids = send(&mail, &["a", "b"]).await;
        let case = cases.recv().await.unwrap();
        match answer {
            Some(words) => case.answer(Err(words.to_owned())),
            None => drop(case),
        }
        office.close().await;
        for id in &ids {
            let Some(Found::Live { job, .. }) = mail.find(id).await.unwrap() else { panic!("it is gone") };
            let note = job.error_notes().next().unwrap();
            assert!(String::from_utf8_lossy(&note.text).starts_with(words), "{note:?}");
            assert_eq!(job.errors, 1);
        }
        mail.revoke(&ids[0]).await.unwrap();
        mail.revoke(&ids[1]).await.unwrap();
    }
}

// shows: Q7
async fn batches_claim_no_more_than_the_free_slots(rig: Rig) {
    let mail = rig.mail().await;
    let ids = send(&mail, &["0", "1", "2", "3", "4", "5", "6"]).await;
    let (office, mut cases) = office(&mail, 2, 4);
    let held = [cases.recv().await.unwrap(), cases.recv().await.unwrap()];
    let mut waiting = 0;
    for id in &ids {
        waiting += usize::from(state(&mail, id).await == WAITING);
    }
    assert_eq!(waiting, 3, "four slots, four leases");
    held.into_iter().for_each(Case::done);
    let third = cases.recv().await.unwrap();
    assert_eq!(third.batch.deliveries.len(), 2);
    third.done();
    let last = rig.while_time_passes(cases.recv()).await.unwrap();
    assert_eq!(last.batch.deliveries.len(), 1);
    last.done();
    office.close().await;
    for id in &ids {
        assert_eq!(state(&mail, id).await, None);
    }
}

async fn lost_delivery_does_not_affect_its_batch(rig: Rig) {
    let mail = rig.mail().await;
    let (office, mut cases) = office(&mail, 2, 4);
    let ids = send(&mail, &["a", "b"]).await;
    let case = cases.recv().await.unwrap();
    supersede(&mail, ids[0]).await;
    let newer = rig.while_time_passes(cases.recv()).await.unwrap();
    assert_eq!(newer.bodies(), ["newer"]);
    let lost = case.batch.deliveries.iter().find(|delivery| delivery.id == ids[0]).unwrap();
    rig.while_time_passes(lost.cancellation().cancelled()).await;
    let held = case.batch.deliveries.iter().find(|delivery| delivery.id == ids[1]).unwrap();
    assert!(!held.cancellation().is_cancelled() && !case.answer.is_closed());
    case.done();
    ended(&mail, &ids[1]).await;
    assert_eq!(state(&mail, &ids[0]).await, Some(State::Leased), "the newer delivery's, which has no outcome yet");
    newer.done();
    office.close().await;
}

/// Otherwise a handler would continue although none of its jobs can be settled.
async fn batch_whose_leases_are_all_lost_is_dropped(rig: Rig) {
    let mail = rig.mail().await;
    let (office, mut cases) = office(&mail, 2, 4);
    let ids = send(&mail, &["a", "b"]).await;
    let mut case = cases.recv().await.unwrap();
    for id in ids {
        supersede(&mail, id).await;
    }
    rig.while_time_passes(case.answer.closed()).await;
    let newer = rig.while_time_passes(cases.recv()).await.unwrap();
    assert_eq!(newer.bodies(), ["newer", "newer"]);
    newer.done();
    office.close().await;
}

/// A job that takes its process down would take the rest of its batch to the dead letters with it.
// shows: queue::Queue::consume_batch
async fn crashed_job_runs_in_a_batch_of_one(rig: Rig) {
    let mail = rig.mail().await;
    let suspect = crashed(&rig, &mail, &["suspect"], 1).await.remove(0);
    let (office, mut cases) = office(&mail, 3, 3);
    let case = cases.recv().await.unwrap();
    assert_eq!(case.bodies(), ["suspect"], "it neither waits for others nor takes them along");
    case.done();
    ended(&mail, &suspect).await;
    office.close().await;
}

// shows: stream::Consumer::handler_timeout
// shows: Q22, queue::Consumer::handler_timeout
async fn batch_that_hangs_is_dropped_and_retried(rig: Rig) {
    let mail = rig.mail().await;
    let (consumer, mut cases) = consumer(&mail, 2);
    let office = open(consumer.concurrency(2).handler_timeout(Duration::from_secs(5)));
    let ids = send(&mail, &["a", "b"]).await;
    let mut case = cases.recv().await.unwrap();
    rig.while_time_passes(case.answer.closed()).await;
    // Their delays differ, so they may come one by one.
    let mut again = Vec::new();
    while again.len() < 2 {
        let case = rig.while_time_passes(cases.recv()).await.unwrap();
        again.extend(case.bodies().into_iter().map(str::to_owned));
        case.done();
    }
    again.sort_unstable();
    assert_eq!(again, ["a", "b"]);
    office.close().await;
    for id in &ids {
        assert_eq!(state(&mail, id).await, None);
    }
}

async fn drain_starts_the_incomplete_batch(rig: Rig) {
    let mail = rig.mail().await;
    let (mut office, mut cases) = office(&mail, 3, 3);
    let ids = send(&mail, &["a"]).await;
    leased(&mail, &ids).await;
    office.stop();
    let case = cases.recv().await.unwrap();
    assert_eq!(case.bodies(), ["a"]);
    case.done();
    office.close().await;
    assert_eq!(state(&mail, &ids[0]).await, None);
}

async fn batch_not_done_at_shutdown_is_released(rig: Rig) {
    let mail = rig.mail().await;
    let (consumer, mut cases) = consumer(&mail, 2);
    let office = open(consumer.concurrency(2).drain(Duration::from_secs(1)));
    let ids = send(&mail, &["a", "b"]).await;
    let case = cases.recv().await.unwrap();
    rig.while_time_passes(office.close()).await;
    assert!(case.answer.is_closed(), "its handler was dropped");
    for id in &ids {
        let Some(Found::Live { state, job, .. }) = mail.find(id).await.unwrap() else { panic!("it is gone") };
        assert_eq!((Some(state), job.errors), (WAITING, 0));
    }
}

// shows: queue::Consumer::run
async fn batch_of_zero_or_above_the_concurrency_is_rejected(rig: Rig) {
    let mail = rig.mail().await;
    for (size, slots) in [(5, 4), (0, 4)] {
        let (consumer, _cases) = consumer(&mail, size);
        let refused = consumer.concurrency(slots).run(std::future::pending()).await;
        assert!(matches!(refused, Err(QueueError::Settings { .. })), "{refused:?}");
    }
}
