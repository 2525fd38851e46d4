//! Handlers that fail, and what follows.

use crate::queue::side::desk::{Desk, open, open_any};
use crate::queue::side::rig::{Mail, Rig, state};
use bytes::Bytes;
use evenkeel::codec::Raw;
use evenkeel::queue::{Delivery, Handled, JobId, Queue, Reaction, Retries, RetryDelay};
use evenkeel_protocol::queue::job::ErrorClass;
use evenkeel_protocol::queue::steps::{Found, State};
use std::time::Duration;

on_both! {
    failed_job_is_retried_after_its_delay_and_then_dead
    job_overrides_retries_and_retry_delay
    exhausted_job_is_discarded_if_configured
    job_with_unlimited_retries_runs_until_success
    handler_panic_is_a_failed_attempt
    snooze_uses_no_attempt
    on_error_chooses_the_reaction
    undecodable_body_is_dead_at_once
    handler_that_hangs_ends_in_a_dead_letter
    handler_can_pause_the_topic
    resumed_topic_delivers_the_job_that_paused_it
}

/// The errors in a job's history: class and text.
async fn history(mail: &Mail, id: &JobId) -> Vec<(ErrorClass, String)> {
    let Some(Found::Live { job, .. }) = mail.find(id).await.unwrap() else { panic!("{id} is gone") };
    job.error_notes().map(|note| (note.class, String::from_utf8(note.text.to_vec()).unwrap())).collect()
}

// shows: Q8
async fn failed_job_is_retried_after_its_delay_and_then_dead(rig: Rig) {
    let delay = RetryDelay::fixed(Duration::from_secs(10));
    let mail = rig.mail_with(|builder| builder.retries(1).retry_delay(delay)).await;
    let id = mail.now(&"a".to_owned()).await.unwrap();
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let first = desk.next().await;
    let fence = first.delivery.fence;
    first.answer(Err("no route to host".to_owned()));

    let second = rig.while_time_passes(desk.next()).await;
    assert_eq!(second.delivery.attempt, 2);
    assert!(second.delivery.fence > fence);
    let due_at = second.delivery.due_at.unwrap();
    assert!(rig.now_ms() >= due_at, "not before its delay is over");
    second.answer(Err("still none".to_owned()));
    office.close().await;

    assert_eq!(state(&mail, &id).await, Some(State::Dead));
    let reported = |words: &str| (ErrorClass::Failed, words.to_owned());
    assert_eq!(history(&mail, &id).await, [reported("no route to host"), reported("still none")]);
}

async fn job_overrides_retries_and_retry_delay(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.retries(0)).await;
    let delay = RetryDelay::fixed(Duration::from_millis(1_500));
    let order = mail.job(&"a".to_owned()).retries(1).retry_delay(delay);
    let id = order.enqueue().await.unwrap().id;
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let failed_at = rig.now_ms();
    desk.next().await.answer(Err("no".to_owned()));
    let case = rig.while_time_passes(desk.next()).await;
    assert_eq!(case.delivery.due_at, Some(failed_at + 1_500));
    case.answer(Err("no".to_owned()));
    office.close().await;
    assert_eq!(state(&mail, &id).await, Some(State::Dead));
}

async fn exhausted_job_is_discarded_if_configured(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.retries(0).discard_exhausted()).await;
    let id = mail.now(&"a".to_owned()).await.unwrap();
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    desk.next().await.answer(Err("no".to_owned()));
    office.close().await;
    assert_eq!(mail.find(&id).await.unwrap(), None);
}

async fn job_with_unlimited_retries_runs_until_success(rig: Rig) {
    let delay = RetryDelay::fixed(Duration::from_millis(100));
    let mail = rig.mail_with(|builder| builder.retries(Retries::Unlimited).retry_delay(delay)).await;
    mail.now(&"a".to_owned()).await.unwrap();
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    for attempt in 1..10 {
        let case = rig.while_time_passes(desk.next()).await;
        assert_eq!(case.delivery.attempt, attempt);
        case.answer(Err("not yet".to_owned()));
    }
    rig.while_time_passes(desk.next()).await.answer(Ok(Handled::Done));
    office.close().await;
}

/// A handler that panics in a shared task takes the worker with it, and the job waits for its lease.
async fn handler_panic_is_a_failed_attempt(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.retries(0)).await;
    let id = mail.now(&"boom".to_owned()).await.unwrap();
    let after = mail.now(&"fine".to_owned()).await.unwrap();
    let (done, mut is_done) = tokio::sync::mpsc::unbounded_channel();
    let consumer = mail.consume(move |delivery: Delivery<String>| {
        let done = done.clone();
        async move {
            assert_ne!(delivery.body, "boom", "on purpose");
            done.send(()).map_err(|_| "the receiver is closed".to_owned())
        }
    });
    let office = open(consumer.concurrency(1));
    is_done.recv().await.unwrap();
    office.close().await;
    assert_eq!(state(&mail, &id).await, Some(State::Dead));
    assert_eq!(state(&mail, &after).await, None);
    let history = history(&mail, &id).await;
    assert!(
        history.len() == 1 && history[0].1.contains("the handler panicked") && history[0].1.contains("on purpose"),
        "{history:?}"
    );
}

/// Leases are extended as long as a handler runs, so one that hangs kept its slot for ever.
// shows: Q22, queue::Consumer::handler_timeout, spec/queue.md
// shows: T4, stream::Consumer::handler_timeout
async fn handler_that_hangs_ends_in_a_dead_letter(rig: Rig) {
    let mail =
        rig.mail_with(|builder| builder.retries(1).retry_delay(RetryDelay::fixed(Duration::from_secs(10)))).await;
    let (ended, mut has_ended) = tokio::sync::mpsc::unbounded_channel();
    let consumer = mail.consume(move |delivery: Delivery<String>| {
        let ended = ended.clone();
        async move {
            if delivery.body == "hang" {
                let (cancellation, ended) = (delivery.cancellation(), ended.clone());
                tokio::spawn(async move {
                    cancellation.cancelled().await;
                    ended.send("canceled".to_owned())
                });
                std::future::pending::<()>().await;
            }
            ended.send(delivery.body).map_err(|_| "the receiver is closed".to_owned())
        }
    });
    let office = open_any(consumer.concurrency(1).handler_timeout(Duration::from_secs(5)));
    let id = mail.now(&"hang".to_owned()).await.unwrap();
    assert_eq!(rig.while_time_passes(has_ended.recv()).await.unwrap(), "canceled");
    // Its slot is free during the delay.
    mail.now(&"fine".to_owned()).await.unwrap();
    assert_eq!(rig.while_time_passes(has_ended.recv()).await.unwrap(), "fine");
    assert_eq!(rig.while_time_passes(has_ended.recv()).await.unwrap(), "canceled");
    office.close().await;
    assert_eq!(state(&mail, &id).await, Some(State::Dead));
    let error = (ErrorClass::Failed, "the handler did not end within 5s".to_owned());
    assert_eq!(history(&mail, &id).await, [error.clone(), error]);
}

async fn snooze_uses_no_attempt(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.retries(0)).await;
    let id = mail.now(&"a".to_owned()).await.unwrap();
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    for _ in 0..3 {
        let case = rig.while_time_passes(desk.next()).await;
        assert_eq!(case.delivery.attempt, 1);
        case.answer(Ok(Handled::Snooze(Duration::from_secs(60))));
    }
    rig.while_time_passes(desk.next()).await.answer(Ok(Handled::Done));
    office.close().await;
    assert_eq!(state(&mail, &id).await, None);
}

async fn on_error_chooses_the_reaction(rig: Rig) {
    let mail = rig.mail().await;
    let bounced = mail.now(&"bounced".to_owned()).await.unwrap();
    let throttled = mail.now(&"throttled".to_owned()).await.unwrap();
    let desk = Desk::new();
    let consumer = desk.consumer(&mail).on_error(|error| match error.as_str() {
        "bounced" => Reaction::Dead,
        _ => Reaction::RetryAfter(Duration::from_secs(90)),
    });
    let office = open(consumer);
    for _ in 0..2 {
        let case = desk.next().await;
        let error = case.delivery.body.clone();
        case.answer(Err(error));
    }
    office.close().await;
    assert_eq!(state(&mail, &bounced).await, Some(State::Dead));
    assert_eq!(history(&mail, &bounced).await, [(ErrorClass::Dead, "bounced".to_owned())]);
    let Some(Found::Live { score, .. }) = mail.find(&throttled).await.unwrap() else { panic!("it is gone") };
    assert_eq!(score, rig.now_ms() + 90_000);
}

/// A body that cannot be read is not worth a retry, and must not stop the jobs behind it.
// shows: Q8
async fn undecodable_body_is_dead_at_once(rig: Rig) {
    let mail = rig.mail().await;
    let raw: Queue<Bytes> = rig.process().await.queue("mail").codec(Raw).open().await.unwrap();
    let id = raw.now(&Bytes::from_static(b"\xff, not text")).await.unwrap();
    mail.now(&"readable".to_owned()).await.unwrap();
    let desk = Desk::new();
    let office = open(desk.consumer(&mail).concurrency(1));
    assert_eq!(desk.done().await, "readable");
    office.close().await;
    assert_eq!(state(&mail, &id).await, Some(State::Dead));
    let history = history(&mail, &id).await;
    assert!(history.len() == 1 && history[0].1.starts_with("undecodable"), "{history:?}");
}

/// The job that met the outage was snoozed for the span of the pause, also after an operator had ended the pause.
// shows: hazard T16
async fn resumed_topic_delivers_the_job_that_paused_it(rig: Rig) {
    let mail = rig.mail().await;
    let desk = Desk::new();
    let office = open(desk.consumer(&mail).on_error(|_| Reaction::PauseTopic(Duration::from_secs(3_600))));
    let down = mail.now(&"down".to_owned()).await.unwrap();
    let met_at = rig.now_ms();
    desk.next().await.answer(Err("down".to_owned()));
    while state(&mail, &down).await == Some(State::Leased) {
        tokio::task::yield_now().await;
    }
    assert!(desk.next_at_once().await.is_none(), "the pause holds it back");
    mail.topic().resume().await.unwrap();
    let again = rig.while_time_passes(desk.next()).await;
    assert_eq!((again.delivery.id, again.delivery.attempt), (down, 1));
    assert!(rig.now_ms() < met_at + 3_600_000);
    again.answer(Ok(Handled::Done));
    office.close().await;
}

/// While a mail server is down, every job of a queue uses up its attempts, and all are dead when it is back.
async fn handler_can_pause_the_topic(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.shards(2).retries(0)).await;
    let names: Vec<String> = (0..6).map(|number| format!("job {number}")).collect();
    let sent = mail.enqueue_all(names.iter().map(|name| mail.job(name).id(name))).await.unwrap();
    let desk = Desk::new();
    let is_down = |error: &String| {
        if error == "down" { Reaction::PauseTopic(Duration::from_secs(10)) } else { Reaction::Retry }
    };
    let office = open(desk.consumer(&mail).concurrency(1).on_error(is_down));
    let first = desk.next().await;
    let (id, paused_at) = (first.delivery.id, rig.now_ms());
    first.answer(Err("down".to_owned()));
    while state(&mail, &id).await == Some(State::Leased) {
        tokio::task::yield_now().await;
    }
    assert!(desk.next_at_once().await.is_none(), "no other job is tried");
    let stats = mail.topic().stats().await.unwrap();
    assert!(stats.is_paused() && stats.total.waiting() == 6, "{stats:?}");
    for _ in &sent {
        let case = rig.while_time_passes(desk.next()).await;
        assert!(rig.now_ms() >= paused_at + 10_000);
        assert_eq!(case.delivery.attempt, 1, "no attempt was used");
        case.answer(Ok(Handled::Done));
    }

    // An operator's pause is not shortened.
    mail.now(&"late".to_owned()).await.unwrap();
    let late = rig.while_time_passes(desk.next()).await;
    mail.topic().pause(None).await.unwrap();
    let id = late.delivery.id;
    late.answer(Err("down".to_owned()));
    while state(&mail, &id).await == Some(State::Leased) {
        tokio::task::yield_now().await;
    }
    let stats = mail.topic().stats().await.unwrap();
    assert!(stats.shards.iter().all(|shard| shard.paused_until == Some(u64::MAX)), "{stats:?}");
    office.close().await;
}
