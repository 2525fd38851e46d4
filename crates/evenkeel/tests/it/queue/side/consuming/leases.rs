//! Leases: extended while a handler runs, and never regained once lost.

use crate::queue::side::desk::{Desk, open};
use crate::queue::side::rig::{Mail, Rig, state};
use bytes::Bytes;
use evenkeel::queue::{Handled, JobId, RetryDelay};
use evenkeel_protocol::queue::job::{JobSpec, Retention};
use evenkeel_protocol::queue::steps::{Found, Put, PutChange, Puts, State, When};
use std::time::Duration;

on_both! {
    long_handler_keeps_its_lease
    lost_lease_cancels_its_handler
    late_result_changes_nothing
    jobs_of_a_killed_consumer_are_redelivered
    next_fence_exceeds_the_fence_seen_by_sql
    progress_is_available_to_the_next_attempt
    worker_is_counted_while_alive
}

/// A13: a handler that takes longer than the visibility runs twice.
async fn long_handler_keeps_its_lease(rig: Rig) {
    let mail = rig.mail().await;
    let id = mail.now(&"long".to_owned()).await.unwrap();
    let desk = Desk::new();
    let here = open(desk.consumer(&mail));
    let case = desk.next().await;
    // Another consumer, which would get the job if its lease expired.
    let there = open(desk.consumer(&rig.mail().await));
    let fence = case.delivery.fence;
    mail.delay(Duration::from_secs(100), &"the end of the wait".to_owned()).await.unwrap();
    assert_eq!(rig.while_time_passes(desk.done()).await, "the end of the wait");
    let Some(Found::Live { state, job, score }) = mail.find(&id).await.unwrap() else { panic!("it is gone") };
    assert_eq!((state, job.fence), (State::Leased, fence), "more than three leases later it is the same delivery");
    assert!(score > rig.now_ms());
    assert!(job.started, "a heartbeat has said that it runs");
    case.answer(Ok(Handled::Done));
    here.close().await;
    there.close().await;
    assert_eq!(crate::queue::side::rig::state(&mail, &id).await, None);
}

/// A newer version of the job supersedes the running delivery: another consumer may have it at any moment.
pub(super) async fn supersede(mail: &Mail, id: JobId) {
    let (steps, shard) = mail.steps(&id);
    let spec = JobSpec {
        version: Some(1),
        retention: Retention::AfterEnd(60_000),
        ..JobSpec::new(Bytes::from_static(b"\"newer\""))
    };
    let put = Put { id, version: 1, change: PutChange::Job(When::In(0), Box::new(spec)) };
    steps.run(&shard, &Puts(vec![put])).await.unwrap();
}

// shows: Q3, spec/queue.md
async fn lost_lease_cancels_its_handler(rig: Rig) {
    let mail = rig.mail().await;
    let id = mail.now(&"older".to_owned()).await.unwrap();
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let older = desk.next().await;
    let cancellation = older.delivery.cancellation();
    supersede(&mail, id).await;
    let newer = desk.next().await;
    assert_eq!((newer.delivery.body.as_str(), newer.delivery.id), ("newer", id));
    assert!(newer.delivery.fence > older.delivery.fence);
    // At the next heartbeat.
    let older = rig.while_time_passes(older.dropped()).await;
    assert!(cancellation.is_cancelled() && older.cancellation().is_cancelled());
    assert!(!newer.delivery.cancellation().is_cancelled());
    newer.answer(Ok(Handled::Done));
    office.close().await;
    assert_eq!(state(&mail, &id).await, None);
}

/// A4: a late result revives a completed job, or ends the job of another worker.
// shows: Q3
async fn late_result_changes_nothing(rig: Rig) {
    let mail = rig.mail().await;
    let id = mail.now(&"older".to_owned()).await.unwrap();
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let older = desk.next().await;
    supersede(&mail, id).await;
    let newer = desk.next().await;
    older.answer(Err("too late".to_owned()));
    // Once this one is done, the older one's result has been settled.
    mail.now(&"after".to_owned()).await.unwrap();
    assert_eq!(desk.done().await, "after");
    let Some(Found::Live { state, job, .. }) = mail.find(&id).await.unwrap() else { panic!("it is gone") };
    assert_eq!((state, job.errors, job.fence), (State::Leased, 0, newer.delivery.fence));
    newer.answer(Ok(Handled::Done));
    office.close().await;
}

// shows: queue::Queue
async fn jobs_of_a_killed_consumer_are_redelivered(rig: Rig) {
    let mail = rig.mail().await;
    mail.now(&"a".to_owned()).await.unwrap();
    let desk = Desk::new();
    let here = open(desk.consumer(&mail));
    let first = desk.next().await;
    here.kill().await;
    let first = first.dropped().await;

    let there = open(desk.consumer(&rig.mail().await));
    let second = rig.while_time_passes(desk.next()).await;
    assert_eq!(second.delivery.id, first.id);
    assert!(second.delivery.fence > first.fence);
    assert_eq!(second.delivery.attempt, 1, "its start was not reported, so its expiry is no crash");
    second.answer(Ok(Handled::Done));
    there.close().await;
}

/// After a failover or a flush Redis may grant fences that SQL has seen: without a way to report that, the job never
/// succeeds.
// shows: Q3
async fn next_fence_exceeds_the_fence_seen_by_sql(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.retries(0)).await;
    mail.now(&"a".to_owned()).await.unwrap();
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let first = desk.next().await;
    let seen = first.delivery.fence + 1_000_000_000;
    first.answer(Ok(Handled::FenceSeen(seen)));
    let second = desk.next().await;
    assert_eq!(second.delivery.attempt, 1, "no attempt was used");
    assert!(second.delivery.fence > seen);
    second.answer(Ok(Handled::Done));
    office.close().await;
}

/// Workers that had been killed eight minutes ago were still counted. One whose leases are long, and whose slots are taken, is counted all
/// the time.
// shows: hazard F4g
async fn worker_is_counted_while_alive(rig: Rig) {
    let lease = Duration::from_secs(3_600);
    let mail = rig.mail_with(|builder| builder.shards(1).visibility(lease)).await;
    let workers = async || mail.topic().stats().await.unwrap().total.workers;
    let id = mail.now(&"long".to_owned()).await.unwrap();
    let desk = Desk::new();
    let lives = open(desk.consumer(&mail).concurrency(1));
    let case = desk.next().await;
    let killed = open(desk.consumer(&rig.mail_with(|builder| builder.shards(1).visibility(lease)).await));
    while workers().await < 2 {
        tokio::task::yield_now().await;
    }
    killed.kill().await;
    for _ in 0..4 {
        rig.advance(Duration::from_secs(20)).await;
        // Only its heartbeat extends the lease.
        let until = rig.now_ms() + u64::try_from(lease.as_millis()).unwrap();
        while !matches!(mail.find(&id).await.unwrap(), Some(Found::Live { score, .. }) if score >= until) {
            tokio::task::yield_now().await;
        }
        assert!(workers().await >= 1);
    }
    assert_eq!(workers().await, 1, "80 s after the other one was killed");
    case.answer(Ok(Handled::Done));
    lives.close().await;
}

// shows: queue::Delivery::progress
async fn progress_is_available_to_the_next_attempt(rig: Rig) {
    let delay = RetryDelay::fixed(Duration::ZERO);
    let mail = rig.mail_with(|builder| builder.retry_delay(delay)).await;
    let id = mail.now(&"import".to_owned()).await.unwrap();
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let first = desk.next().await;
    assert_eq!(first.delivery.last_progress(), None);
    for row in ["row 1000", "row 2000"] {
        assert!(first.delivery.progress(row).await.unwrap());
    }
    first.answer(Err("the file is gone".to_owned()));
    let second = desk.next().await;
    assert_eq!((second.delivery.attempt, second.delivery.last_progress()), (2, Some(&b"row 2000"[..])));
    supersede(&mail, id).await;
    assert!(!second.delivery.progress("row 3000").await.unwrap(), "it is not current any more");
    second.answer(Ok(Handled::Done));
    let newer = desk.next().await;
    assert_eq!(newer.delivery.last_progress(), None);
    newer.answer(Ok(Handled::Done));
    office.close().await;
}
