//! Leases: kept while a handler runs, lost for good when they are lost, and what crashed is run with no neighbour.

use super::desk::{Desk, open};
use super::rig::{Mail, Rig, state};
use bytes::Bytes;
use evenkeel::Token;
use evenkeel::queue::job::{JobSpec, Keep};
use evenkeel::queue::steps::{
    Beat, Found, Put, PutChange, QueueSteps, Rescue, SettleAndClaim, Settled, State, When, Worker,
};
use evenkeel::queue::{Handled, JobId, Priority, RetryDelay};
use std::time::Duration;

on_both! {
    a_long_handler_keeps_its_lease
    a_lost_lease_cancels_its_handler
    a_late_result_changes_nothing
    a_crashed_job_runs_with_no_neighbour
    the_start_of_a_crashed_job_is_reported_before_it_runs
    a_killed_consumers_jobs_come_back
    a_fence_that_sql_has_seen_is_passed
    progress_is_kept_for_the_next_attempt
}

/// A13: a handler that takes longer than the visibility runs twice.
async fn a_long_handler_keeps_its_lease(rig: Rig) {
    let mail = rig.mail().await;
    let id = mail.now(&"long".to_owned()).await.unwrap();
    let desk = Desk::new();
    let here = open(desk.consumer(&mail));
    let case = desk.next().await;
    // Another consumer, which would get the job if its lease lapsed.
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
    assert_eq!(super::rig::state(&mail, &id).await, None);
}

/// A newer version of the job supersedes the delivery that runs: somebody else may have it at any moment.
pub(super) async fn supersede(mail: &Mail, id: JobId) {
    let (steps, shard) = mail.steps(&id);
    let spec =
        JobSpec { version: Some(1), keep: Keep::AfterEnd(60_000), ..JobSpec::new(Bytes::from_static(b"\"newer\"")) };
    let put = Put { id, version: 1, change: PutChange::Job(When::In(0), Box::new(spec)) };
    steps.put(&shard, &[put]).await.unwrap();
}

async fn a_lost_lease_cancels_its_handler(rig: Rig) {
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

/// A4: a result that comes late brings a finished job back, or ends the job of another worker.
async fn a_late_result_changes_nothing(rig: Rig) {
    let mail = rig.mail().await;
    let id = mail.now(&"older".to_owned()).await.unwrap();
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let older = desk.next().await;
    supersede(&mail, id).await;
    let newer = desk.next().await;
    older.answer(Err("too late".to_owned()));
    // Once this one is done, the older one's result has been judged.
    mail.now(&"after".to_owned()).await.unwrap();
    assert_eq!(desk.done().await, "after");
    let Some(Found::Live { state, job, .. }) = mail.find(&id).await.unwrap() else { panic!("it is gone") };
    assert_eq!((state, job.errors, job.fence), (State::Leased, 0, newer.delivery.fence));
    newer.answer(Ok(Handled::Done));
    office.close().await;
}

/// A job whose worker fell silent after it had reported the start, so many ms ago.
pub(super) async fn crashed(rig: &Rig, mail: &Mail, body: &str) -> JobId {
    let id = mail.now(&body.to_owned()).await.unwrap();
    let (steps, shard) = mail.steps(&id);
    let worker = Worker([7; 16]);
    let call = SettleAndClaim {
        worker,
        sequence: 1,
        settlements: Vec::new(),
        want: 1,
        lease_ms: 1_000,
        token: Token::random(),
        fence_floor: 0,
    };
    let Settled::Done(claimed) = steps.settle_and_claim(&shard, &call).await.unwrap() else { panic!("stale") };
    let receipt = claimed.deliveries[0].receipt;
    assert_eq!(receipt.id, id);
    steps.beat(&shard, &Beat { worker, lease_ms: 1_000, deliveries: vec![(receipt, true)] }).await.unwrap();
    rig.advance(Duration::from_secs(1)).await;
    let rescued =
        steps.rescue(&shard, Rescue { limit: 1, crash_max: 3, crash_delay_ms: 0, is_judged: false }).await.unwrap();
    assert_eq!(rescued.jobs.len(), 1);
    id
}

/// A job that takes its process down takes its neighbours to the dead letters with it, crash by crash.
async fn a_crashed_job_runs_with_no_neighbour(rig: Rig) {
    let mail = rig.mail().await;
    let suspect = crashed(&rig, &mail, "suspect").await;
    // Urgent, so that it is claimed first.
    mail.job(&"neighbour".to_owned()).priority(Priority::Urgent).enqueue().await.unwrap();
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let neighbour = desk.next().await;
    assert_eq!(neighbour.delivery.body, "neighbour");
    while state(&mail, &suspect).await != Some(State::Leased) {
        tokio::task::yield_now().await;
    }
    assert!(desk.next_at_once().await.is_none(), "it waits until its neighbour has ended");

    let other = mail.now(&"other".to_owned()).await.unwrap();
    neighbour.answer(Ok(Handled::Done));
    let case = desk.next().await;
    assert_eq!((case.delivery.body.as_str(), case.delivery.attempt), ("suspect", 2));
    assert_eq!(state(&mail, &other).await, Some(State::Waiting(Priority::Normal)), "nobody joins it");
    case.answer(Ok(Handled::Done));
    assert_eq!(desk.done().await, "other");
    office.close().await;
}

/// A lapse counts as a crash only if the start was reported: a job that kills its process at once would never be found out.
async fn the_start_of_a_crashed_job_is_reported_before_it_runs(rig: Rig) {
    let mail = rig.mail().await;
    let id = crashed(&rig, &mail, "suspect").await;
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let case = desk.next().await;
    let Some(Found::Live { job, .. }) = mail.find(&id).await.unwrap() else { panic!("it is gone") };
    assert!(job.started && job.crashes == 1);
    case.answer(Ok(Handled::Done));
    office.close().await;
}

async fn a_killed_consumers_jobs_come_back(rig: Rig) {
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
    assert_eq!(second.delivery.attempt, 1, "nobody had reported its start, so it was a lapse and no crash");
    second.answer(Ok(Handled::Done));
    there.close().await;
}

/// After a failover or a flush Redis may give fences that SQL has seen: without a way to say so, the job never gets through.
async fn a_fence_that_sql_has_seen_is_passed(rig: Rig) {
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

async fn progress_is_kept_for_the_next_attempt(rig: Rig) {
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
