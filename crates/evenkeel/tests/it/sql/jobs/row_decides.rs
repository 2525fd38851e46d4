//! `Durability::Sql`: the row is the source of truth, and jobs that the store loses are restored from it (Q1).

use crate::sql::databases::{TestDatabase, Tested, on_each_database};
use evenkeel::Keel;
use evenkeel::link::LinkOptions;
use evenkeel::queue::{Delivery, JobId, Queue, Retries};
use evenkeel_protocol::queue::job::End;
use evenkeel_protocol::queue::steps::{Enqueued, Found, Rescheduled, Reschedules, Revoked, State};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

on_each_database! {
    job_runs_once_and_its_row_is_deleted
    restart_of_the_embedded_store_loses_no_job
    flushed_redis_is_refilled_from_the_rows
    finished_job_is_not_restored
    revoked_job_never_runs_though_the_store_has_the_job
    running_job_is_not_revoked
    outdated_copy_of_a_rescheduled_job_does_not_run
    job_with_an_id_is_accepted_once
    jobs_beyond_the_horizon_stay_out_of_the_store
    concurrent_sweeps_restore_a_job_once
    enqueue_is_accepted_while_redis_is_away
    next_fence_exceeds_the_fence_in_the_row
    unit_of_work_enqueues_a_job_with_a_row
}

const HOUR: Duration = Duration::from_secs(3_600);

/// The queue of another process with an embedded store of its own, as after a restart.
async fn opened<DB: Tested>(place: &TestDatabase<DB>) -> Queue<u32> {
    Keel::memory().queue("row_decides").retries(Retries::Unlimited).sql(&place.pool).open().await.unwrap()
}

async fn on_redis<DB: Tested>(place: &TestDatabase<DB>, redis: &Redis) -> Queue<u32> {
    let mut options = LinkOptions::from_url(&redis.url()).unwrap();
    options.response_timeout = Duration::from_millis(500);
    let keel = Keel::builder().connect_with(options).await.unwrap();
    keel.queue("row_decides").sql(&place.pool).open().await.unwrap()
}

/// Consumes until dropped; returns the jobs that ran.
fn consuming(queue: &Queue<u32>) -> (JoinHandle<()>, mpsc::UnboundedReceiver<u32>) {
    let (ran, runs) = mpsc::unbounded_channel();
    let consumer = queue.consume(move |job: Delivery<u32>| {
        let ran = ran.clone();
        async move {
            let _ = ran.send(job.body);
            Ok::<_, Infallible>(())
        }
    });
    let task = tokio::spawn(async move { consumer.run(std::future::pending()).await.unwrap() });
    (task, runs)
}

/// Waits until the rows of all jobs are gone or ended: the end of a job is recorded there first.
async fn until_no_row_lives<DB: Tested>(place: &TestDatabase<DB>) {
    while place.number("SELECT COUNT(*) FROM evenkeel_jobs WHERE state = 1").await > 0 {
        tokio::task::yield_now().await;
    }
}

async fn waits(queue: &Queue<u32>, id: &JobId) -> bool {
    let (steps, shard) = queue.steps(id);
    matches!(steps.job(&shard, *id).await.unwrap(), Some(Found::Live { state: State::Waiting(_), .. }))
}

// shows: spec/queue.md
async fn job_runs_once_and_its_row_is_deleted<DB: Tested>(place: TestDatabase<DB>) {
    let queue = opened(&place).await;
    queue.now(&7).await.unwrap();
    assert_eq!(place.number("SELECT COUNT(*) FROM evenkeel_jobs WHERE state = 1").await, 1);
    let (task, mut runs) = consuming(&queue);
    assert_eq!(runs.recv().await, Some(7));
    until_no_row_lives(&place).await;
    assert_eq!(place.number("SELECT COUNT(*) FROM evenkeel_jobs").await, 0);
    task.abort();
}

async fn restart_of_the_embedded_store_loses_no_job<DB: Tested>(place: TestDatabase<DB>) {
    let queue = opened(&place).await;
    let id = queue.delay(HOUR, &1).await.unwrap();
    queue.now(&2).await.unwrap();
    drop(queue);
    let queue = opened(&place).await;
    while queue.sweep_once().await.unwrap().rows == 0 {}
    assert!(waits(&queue, &id).await);
    let (task, mut runs) = consuming(&queue);
    assert_eq!(runs.recv().await, Some(2));
    task.abort();
}

// shows: spec/queue.md
async fn flushed_redis_is_refilled_from_the_rows<DB: Tested>(place: TestDatabase<DB>) {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let queue = on_redis(&place, &redis).await;
    let sent = queue.enqueue_all((0..700).map(|number| queue.job(&number).delay(HOUR))).await.unwrap();
    redis.command::<()>(&["FLUSHALL"]).await.unwrap();
    queue.sweep_once().await.unwrap();
    for sent in &sent {
        assert!(waits(&queue, &sent.id).await);
    }
    // A restored job runs.
    queue.reschedule_in(&sent[699].id, Duration::ZERO).await.unwrap();
    let (task, mut runs) = consuming(&queue);
    assert_eq!(runs.recv().await, Some(699));
    task.abort();
}

// shows: spec/queue.md
async fn finished_job_is_not_restored<DB: Tested>(place: TestDatabase<DB>) {
    let queue = opened(&place).await;
    let done = queue.job(&1).id("done").enqueue().await.unwrap().id;
    let (task, mut runs) = consuming(&queue);
    assert_eq!(runs.recv().await, Some(1));
    until_no_row_lives(&place).await;
    task.abort();
    let _ = task.await;
    // A store that lost writes delivers the job again: as a stale copy, and after a total loss.
    drop(queue);
    let queue = opened(&place).await;
    assert_eq!(queue.sweep_once().await.unwrap().put_back, 0);
    assert!(matches!(queue.find(&done).await.unwrap(), Some(Found::Ended(completion)) if completion.end == End::Done));
    let again = queue.job(&2).id("done").enqueue().await.unwrap();
    assert_eq!(again.answer, Enqueued::Ended(End::Done), "its row has recorded it, though the store does not");
    // The store discards the job, and the sweep ends its row.
    let failing = queue.consume(|_: Delivery<u32>| async { Err::<(), _>("no") });
    let task = tokio::spawn(async move { failing.run(std::future::pending()).await.unwrap() });
    let discarded = queue.job(&3).retries(0).discard_exhausted().enqueue().await.unwrap().id;
    let (steps, shard) = queue.steps(&discarded);
    while !matches!(steps.job(&shard, discarded).await.unwrap(), Some(Found::Ended(completion)) if completion.end == End::Discarded)
    {
        tokio::task::yield_now().await;
    }
    task.abort();
    assert_eq!(queue.sweep_once().await.unwrap().put_back, 0);
    assert_eq!(place.number("SELECT COUNT(*) FROM evenkeel_jobs WHERE state = 1").await, 0);
    assert_eq!(place.number("SELECT COUNT(*) FROM evenkeel_jobs WHERE ended_as = 3").await, 1);
}

// shows: queue::Queue::revoke, queue::Queue::reschedule, queue::Queue::reschedule_in, queue::Topic::revoke
async fn revoked_job_never_runs_though_the_store_has_the_job<DB: Tested>(place: TestDatabase<DB>) {
    let old = opened(&place).await;
    let id = old.delay(HOUR, &1).await.unwrap();
    // Another process, with its own store, revokes the job: the first store has no record of that.
    let other = opened(&place).await;
    assert_eq!(other.revoke(&id).await.unwrap(), Revoked::Revoked);
    let (steps, shard) = old.steps(&id);
    let early = evenkeel_protocol::queue::steps::Reschedule {
        id,
        when: Some(evenkeel_protocol::queue::steps::When::In(0)),
        body: None,
        codec: None,
    };
    steps.run(&shard, &Reschedules(vec![early])).await.unwrap();
    let (task, mut runs) = consuming(&old);
    old.now(&2).await.unwrap();
    assert_eq!(runs.recv().await, Some(2), "the revoked one was not begun");
    until_no_row_lives(&place).await;
    // It may be in another shard than the second job: only when the store has let go of it, its turn has passed.
    while steps.job(&shard, id).await.unwrap().is_some_and(|found| matches!(found, Found::Live { .. })) {
        tokio::task::yield_now().await;
    }
    assert!(runs.try_recv().is_err());
    assert_eq!(old.revoke(&id).await.unwrap(), Revoked::Revoked, "its row has recorded how it ended");
    task.abort();
}

async fn running_job_is_not_revoked<DB: Tested>(place: TestDatabase<DB>) {
    let queue = opened(&place).await;
    let id = queue.now(&1).await.unwrap();
    let (began, end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (it_began, may_end) = (Arc::clone(&began), Arc::clone(&end));
    let consumer = queue.consume(move |_: Delivery<u32>| {
        let (began, end) = (Arc::clone(&it_began), Arc::clone(&may_end));
        async move {
            began.notify_one();
            end.notified().await;
            Ok::<_, Infallible>(())
        }
    });
    let task = tokio::spawn(async move { consumer.run(std::future::pending()).await.unwrap() });
    began.notified().await;
    assert_eq!(queue.revoke(&id).await.unwrap(), Revoked::Running);
    assert_eq!(queue.reschedule_in(&id, HOUR).await.unwrap(), Rescheduled::Running);
    assert_eq!(place.number("SELECT COUNT(*) FROM evenkeel_jobs WHERE state = 1 AND version = 1").await, 1);
    end.notify_one();
    until_no_row_lives(&place).await;
    task.abort();
}

async fn outdated_copy_of_a_rescheduled_job_does_not_run<DB: Tested>(place: TestDatabase<DB>) {
    let old = opened(&place).await;
    let id = old.now(&1).await.unwrap();
    // The store of the first process still has it as due now.
    let other = opened(&place).await;
    assert_eq!(other.reschedule_in(&id, HOUR).await.unwrap(), Rescheduled::Changed);
    assert_eq!(other.edit(&id, &5).await.unwrap(), Rescheduled::Changed);
    let (task, mut runs) = consuming(&old);
    old.now(&2).await.unwrap();
    assert_eq!(runs.recv().await, Some(2));
    while !matches!(old.find(&id).await.unwrap(), Some(Found::Live { job, .. }) if job.spec.version == Some(3)) {
        tokio::task::yield_now().await;
    }
    assert!(runs.try_recv().is_err(), "it waits for its new time");
    task.abort();
}

async fn job_with_an_id_is_accepted_once<DB: Tested>(place: TestDatabase<DB>) {
    let queue = opened(&place).await;
    let orders = || queue.job(&1).id("welcome/42").delay(HOUR);
    assert_eq!(orders().enqueue().await.unwrap().answer, Enqueued::Created);
    assert_eq!(orders().enqueue().await.unwrap().answer, Enqueued::Duplicate);
    assert_eq!(opened(&place).await.job(&1).id("welcome/42").enqueue().await.unwrap().answer, Enqueued::Duplicate);
    assert_eq!(place.number("SELECT COUNT(*) FROM evenkeel_jobs").await, 1);
}

async fn jobs_beyond_the_horizon_stay_out_of_the_store<DB: Tested>(place: TestDatabase<DB>) {
    let keel = Keel::memory();
    let queue: Queue<u32> = keel.queue("row_decides").sql(&place.pool).horizon(HOUR).open().await.unwrap();
    let far = queue.delay(10 * HOUR, &1).await.unwrap();
    let near = queue.delay(HOUR / 2, &2).await.unwrap();
    queue.sweep_once().await.unwrap();
    assert!(!waits(&queue, &far).await);
    assert!(waits(&queue, &near).await);
    assert!(matches!(queue.find(&far).await.unwrap(), Some(Found::Live { .. })), "its row is found");
    assert_eq!(queue.reschedule_in(&far, HOUR / 2).await.unwrap(), Rescheduled::Changed);
    assert!(waits(&queue, &far).await);
    let other = queue.delay(10 * HOUR, &3).await.unwrap();
    assert_eq!(queue.revoke(&other).await.unwrap(), Revoked::Revoked);
}

async fn concurrent_sweeps_restore_a_job_once<DB: Tested>(place: TestDatabase<DB>) {
    let old = opened(&place).await;
    for number in 0..50 {
        old.now(&number).await.unwrap();
    }
    drop(old);
    let queue = opened(&place).await;
    let (one, other) = (queue.clone(), queue.clone());
    let (one, other) = tokio::join!(
        tokio::spawn(async move { one.sweep_once().await.unwrap() }),
        tokio::spawn(async move { other.sweep_once().await.unwrap() })
    );
    one.unwrap();
    other.unwrap();
    let (task, mut runs) = consuming(&queue);
    let mut seen = Vec::new();
    for _ in 0..50 {
        seen.push(runs.recv().await.unwrap());
    }
    until_no_row_lives(&place).await;
    seen.sort_unstable();
    assert_eq!(seen, (0..50).collect::<Vec<_>>());
    assert!(runs.try_recv().is_err());
    task.abort();
}

async fn enqueue_is_accepted_while_redis_is_away<DB: Tested>(place: TestDatabase<DB>) {
    let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
    let queue = on_redis(&place, &redis).await;
    redis.kill().unwrap();
    let sent = queue.job(&1).delay(HOUR).enqueue().await.unwrap();
    assert!(sent.is_new(), "its row has it");
    redis.restart().await.unwrap();
    while queue.sweep_once().await.map_or(0, |swept| swept.rows) == 0 {
        tokio::task::yield_now().await;
    }
    assert!(waits(&queue, &sent.id).await);
}

/// A Redis that lost its fences (a flush, and a clock that is behind) issues lower ones: the row rejects them until they are higher.
async fn next_fence_exceeds_the_fence_in_the_row<DB: Tested>(place: TestDatabase<DB>) {
    let queue = opened(&place).await;
    let id = queue.now(&1).await.unwrap();
    let ahead = "UPDATE evenkeel_jobs SET fence = 4000000000000000";
    assert_eq!(place.run(ahead).await, 1);
    let (task, mut runs) = consuming(&queue);
    let (steps, shard) = queue.steps(&id);
    let ran = loop {
        if let Ok(ran) = runs.try_recv() {
            break ran;
        }
        let found = steps.job(&shard, id).await.unwrap();
        assert!(!matches!(found, Some(Found::Live { state: State::Dead, .. })), "a fence is no fault of the job");
        tokio::task::yield_now().await;
    };
    assert_eq!(ran, 1);
    until_no_row_lives(&place).await;
    task.abort();
}

async fn unit_of_work_enqueues_a_job_with_a_row<DB: Tested>(place: TestDatabase<DB>) {
    let keel = Keel::memory();
    let queue: Queue<u32> = keel.queue("row_decides").sql(&place.pool).open().await.unwrap();
    let mut work = keel.begin(&place.pool).await.unwrap();
    let id = work.enqueue(queue.job(&1).id("named").delay(HOUR)).unwrap();
    work.commit().await.unwrap();
    assert_eq!(place.number("SELECT COUNT(*) FROM evenkeel_jobs WHERE state = 1").await, 1);
    assert!(waits(&queue, &id).await);
    let mut work = keel.begin(&place.pool).await.unwrap();
    work.enqueue(queue.job(&2).id("named")).unwrap();
    work.enqueue(queue.job(&3)).unwrap();
    work.commit().await.unwrap();
    let (task, mut runs) = consuming(&queue);
    let mut ran = [runs.recv().await.unwrap(), runs.recv().await.unwrap()];
    ran.sort_unstable();
    assert_eq!(ran, [2, 3], "the newer version has taken the place of the older one");
    until_no_row_lives(&place).await;
    let mut work = keel.begin(&place.pool).await.unwrap();
    work.enqueue(queue.job(&4)).unwrap();
    drop(work);
    assert_eq!(place.number("SELECT COUNT(*) FROM evenkeel_jobs WHERE state = 1").await, 0, "rolled back");
    task.abort();
}
