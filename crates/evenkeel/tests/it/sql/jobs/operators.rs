//! Operators and programs agree: the result that an operator received holds, before and after Redis has lost everything.

use crate::sql::databases::{TestDatabase, Tested, on_each_database};
use evenkeel::Keel;
use evenkeel::queue::topic::JobState as Among;
use evenkeel::queue::topic::{NewTopicJob, Topic};
use evenkeel::queue::{Delivery, Handled, JobId, Queue, QueueError};
use evenkeel_protocol::queue::job::{End, Retries};
use evenkeel_protocol::queue::steps::{Enqueued, Found, Rescheduled, Revoked, State, When};
use std::convert::Infallible;
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

on_each_database! {
    revoked_job_never_runs_after_flush
    rescheduled_and_edited_jobs_survive_flush
    job_run_now_runs_after_flush
    purged_jobs_do_not_come_back_after_flush
    deleted_dead_letters_do_not_come_back_after_flush
    redriven_dead_letter_runs_after_flush
    added_job_runs_after_flush
    job_beyond_the_horizon_is_listed_for_operators
    topic_without_its_database_rejects_every_change
    pause_survives_flush
    operators_do_not_change_a_running_job
    queue_with_rows_is_rejected_without_its_database
}

const HOUR: Duration = Duration::from_secs(3_600);
const DAY_MS: u64 = 86_400_000;

/// A queue with rows on its own Redis, and the topic as an operator opens it.
struct Desk {
    redis: Redis,
    keel: Keel,
    queue: Queue<u32>,
    topic: Topic,
}

impl Desk {
    async fn open<DB: Tested>(place: &TestDatabase<DB>) -> Self {
        Self::with_horizon(place, None).await
    }

    async fn with_horizon<DB: Tested>(place: &TestDatabase<DB>, horizon: Option<Duration>) -> Self {
        let redis = Redis::start(RedisOptions::new()).await.unwrap();
        let keel = Keel::connect(&redis.url()).await.unwrap();
        let builder = keel.queue("row_decides").retries(0).sql(&place.pool);
        let queue = match horizon {
            Some(horizon) => builder.horizon(horizon).open().await.unwrap(),
            None => builder.open().await.unwrap(),
        };
        // Another connection, as that of another program.
        let operator = Keel::connect(&redis.url()).await.unwrap();
        let topic = operator.topic("row_decides").await.unwrap().sql(&place.pool);
        Self { redis, keel, queue, topic }
    }

    async fn later(&self, number: u32) -> JobId {
        self.queue.delay(HOUR, &number).await.unwrap()
    }

    /// Makes Redis lose everything, if requested; then sweeps the rows.
    async fn then(&self, is_flushed: bool) {
        if is_flushed {
            self.redis.command::<()>(&["FLUSHALL"]).await.unwrap();
        }
        self.queue.sweep_once().await.unwrap();
    }

    /// The store's state of a job, without its row.
    async fn in_store(&self, id: JobId) -> Option<Found> {
        let (steps, shard) = self.queue.steps(&id);
        steps.job(&shard, id).await.unwrap()
    }

    async fn waits(&self, id: JobId) -> bool {
        matches!(self.in_store(id).await, Some(Found::Live { state: State::Waiting(_), .. }))
    }

    /// Makes a dead letter.
    async fn make_dead(&self, number: u32) -> JobId {
        let id = self.queue.now(&number).await.unwrap();
        let consumer =
            self.queue.consume(|_: Delivery<u32>| async { Ok::<_, Infallible>(Handled::Dead("no use".into())) });
        let task = tokio::spawn(async move { consumer.run(std::future::pending()).await.unwrap() });
        while !matches!(self.in_store(id).await, Some(Found::Live { state: State::Dead, .. })) {
            tokio::task::yield_now().await;
        }
        task.abort();
        let _ = task.await;
        id
    }

    fn consuming(&self) -> (JoinHandle<()>, mpsc::UnboundedReceiver<u32>) {
        let (ran, runs) = mpsc::unbounded_channel();
        let consumer = self.queue.consume(move |job: Delivery<u32>| {
            let ran = ran.clone();
            async move {
                let _ = ran.send(job.body);
                Ok::<_, Infallible>(())
            }
        });
        (tokio::spawn(async move { consumer.run(std::future::pending()).await.unwrap() }), runs)
    }
}

/// A job has ended once its row has.
async fn until_no_row_lives<DB: Tested>(place: &TestDatabase<DB>) {
    while place.number("SELECT COUNT(*) FROM evenkeel_jobs WHERE state = 1").await > 0 {
        tokio::task::yield_now().await;
    }
}

// shows: hazard F4, queue::Topic::revoke, queue::Topic::reschedule, queue::Topic::purge, queue::Topic::pause
// shows: queue::Topic::resume
async fn revoked_job_never_runs_after_flush<DB: Tested>(place: TestDatabase<DB>) {
    let desk = Desk::open(&place).await;
    for is_flushed in [false, true] {
        let id = desk.later(1).await;
        assert_eq!(desk.topic.revoke(&[id]).await.unwrap(), [Revoked::Revoked]);
        desk.then(is_flushed).await;
        assert!(!desk.waits(id).await, "flushed: {is_flushed}");
        assert_eq!(
            desk.topic.revoke(&[id]).await.unwrap(),
            [Revoked::Revoked],
            "the same answer, flushed: {is_flushed}"
        );
        assert!(
            matches!(desk.topic.job(id).await.unwrap(), Some(Found::Ended(completion)) if completion.end == End::Revoked)
        );
    }
}

// shows: hazard F4, queue::Topic::revoke, queue::Topic::reschedule, queue::Topic::purge, queue::Topic::pause
// shows: queue::Topic::resume
async fn rescheduled_and_edited_jobs_survive_flush<DB: Tested>(place: TestDatabase<DB>) {
    let desk = Desk::open(&place).await;
    for is_flushed in [false, true] {
        let id = desk.queue.now(&1).await.unwrap();
        let moved = desk.topic.reschedule(id, When::In(DAY_MS)).await.unwrap();
        assert_eq!(moved, Rescheduled::Changed);
        assert_eq!(desk.topic.edit(id, "2".into()).await.unwrap(), Rescheduled::Changed);
        desk.then(is_flushed).await;
        let Some(Found::Live { score, job, .. }) = desk.in_store(id).await else { panic!("flushed: {is_flushed}") };
        assert!(score > desk.topic.now_ms() + DAY_MS / 2, "it is not due as it was, flushed: {is_flushed}");
        assert_eq!(&job.spec.body[..], b"2", "flushed: {is_flushed}");
    }
}

async fn job_run_now_runs_after_flush<DB: Tested>(place: TestDatabase<DB>) {
    let desk = Desk::open(&place).await;
    for (number, is_flushed) in [(1, false), (2, true)] {
        let id = desk.later(number).await;
        assert_eq!(desk.topic.run_now(&[id]).await.unwrap(), [Rescheduled::Changed]);
        desk.then(is_flushed).await;
        let (task, mut runs) = desk.consuming();
        assert_eq!(runs.recv().await, Some(number));
        until_no_row_lives(&place).await;
        task.abort();
        let _ = task.await;
    }
}

// shows: hazard F4, queue::Topic::revoke, queue::Topic::reschedule, queue::Topic::purge, queue::Topic::pause
// shows: queue::Topic::resume
async fn purged_jobs_do_not_come_back_after_flush<DB: Tested>(place: TestDatabase<DB>) {
    let desk = Desk::open(&place).await;
    for is_flushed in [false, true] {
        let ids = [desk.later(1).await, desk.later(2).await];
        assert_eq!(desk.topic.purge(Among::Waiting, "row_decides").await.unwrap(), 2);
        desk.then(is_flushed).await;
        for id in ids {
            assert!(!desk.waits(id).await, "flushed: {is_flushed}");
        }
        assert_eq!(desk.topic.stats().await.unwrap().rows, Some(0));
    }
    // What the store has lost before is purged, too.
    let id = desk.later(3).await;
    desk.redis.command::<()>(&["FLUSHALL"]).await.unwrap();
    desk.topic.purge(Among::Waiting, "row_decides").await.unwrap();
    desk.then(false).await;
    assert!(!desk.waits(id).await);
}

// shows: hazard F4
async fn deleted_dead_letters_do_not_come_back_after_flush<DB: Tested>(place: TestDatabase<DB>) {
    let desk = Desk::open(&place).await;
    for is_flushed in [false, true] {
        let one = desk.make_dead(1).await;
        assert_eq!(desk.topic.revoke(&[one]).await.unwrap(), [Revoked::Dead]);
        assert_eq!(desk.topic.run_now(&[one]).await.unwrap(), [Rescheduled::Dead]);
        assert_eq!(desk.topic.delete_dead(&[one]).await.unwrap(), [true]);
        assert_eq!(desk.topic.delete_dead(&[one]).await.unwrap(), [false]);
        let other = desk.make_dead(2).await;
        assert_eq!(desk.topic.purge(Among::Dead, "row_decides").await.unwrap(), 1);
        desk.then(is_flushed).await;
        for id in [one, other] {
            assert!(!matches!(desk.in_store(id).await, Some(Found::Live { .. })), "flushed: {is_flushed}");
        }
    }
}

// shows: hazard F4
async fn redriven_dead_letter_runs_after_flush<DB: Tested>(place: TestDatabase<DB>) {
    let desk = Desk::open(&place).await;
    for (number, is_flushed) in [(1, false), (2, true)] {
        desk.make_dead(number).await;
        assert_eq!(desk.topic.redrive(&number.to_string()).run().await.unwrap().taken, 1);
        desk.then(is_flushed).await;
        let (task, mut runs) = desk.consuming();
        assert_eq!(runs.recv().await, Some(number));
        until_no_row_lives(&place).await;
        task.abort();
        let _ = task.await;
    }
    // A dead letter whose row has ended would not run: the redrive must not report it as sent back.
    let id = desk.make_dead(3).await;
    place.run("DELETE FROM evenkeel_jobs").await;
    assert_eq!(desk.topic.redrive("3").run().await.unwrap().taken, 0);
    assert!(!matches!(desk.in_store(id).await, Some(Found::Live { .. })), "it is no dead letter any more");
}

async fn added_job_runs_after_flush<DB: Tested>(place: TestDatabase<DB>) {
    let desk = Desk::open(&place).await;
    for (number, is_flushed) in [(1, false), (2, true)] {
        let new = NewTopicJob {
            body: number.to_string().into(),
            when: When::In(0),
            name: Some(format!("added {number}")),
            unique: None,
            priority: Default::default(),
            retries: Some(Retries::Limited(0)),
        };
        assert_eq!(desk.topic.add(new.clone()).await.unwrap().1, Enqueued::Created);
        desk.then(is_flushed).await;
        assert_eq!(desk.topic.add(new).await.unwrap().1, Enqueued::Duplicate, "flushed: {is_flushed}");
        let (task, mut runs) = desk.consuming();
        assert_eq!(runs.recv().await, Some(number));
        until_no_row_lives(&place).await;
        task.abort();
        let _ = task.await;
    }
}

// shows: hazard F4
async fn job_beyond_the_horizon_is_listed_for_operators<DB: Tested>(place: TestDatabase<DB>) {
    let desk = Desk::with_horizon(&place, Some(HOUR)).await;
    let far = desk.queue.delay(10 * HOUR, &1).await.unwrap();
    assert!(!desk.waits(far).await);
    assert!(matches!(desk.topic.job(far).await.unwrap(), Some(Found::Live { state: State::Waiting(_), .. })));
    assert_eq!(desk.topic.stats().await.unwrap().rows, Some(1));
    assert_eq!(desk.topic.edit(far, "2".into()).await.unwrap(), Rescheduled::Changed);
    assert_eq!(desk.topic.revoke(&[far]).await.unwrap(), [Revoked::Revoked]);
    assert_eq!(desk.topic.stats().await.unwrap().rows, Some(0));
}

// shows: hazard F4, queue::Topic::revoke, queue::Topic::reschedule, queue::Topic::purge, queue::Topic::pause
// shows: queue::Topic::resume, queue::Topic::amend, queue::Topic::why
async fn topic_without_its_database_rejects_every_change<DB: Tested>(place: TestDatabase<DB>) {
    let desk = Desk::open(&place).await;
    let (id, dead) = (desk.later(1).await, desk.make_dead(2).await);
    for is_flushed in [false, true] {
        desk.then(is_flushed).await;
        // The next process that opens the queue registers it again.
        desk.keel.queue::<u32>("row_decides").sql(&place.pool).open().await.unwrap();
        let bare = Keel::connect(&desk.redis.url()).await.unwrap().topic("row_decides").await.unwrap();
        assert!(bare.needs_database());
        let new = NewTopicJob {
            body: "3".into(),
            when: When::In(0),
            name: None,
            unique: None,
            priority: Default::default(),
            retries: None,
        };
        let refused = [
            bare.revoke(&[id]).await.err(),
            bare.reschedule(id, When::In(0)).await.err(),
            bare.edit(id, "3".into()).await.err(),
            bare.amend(id, "1".into(), "3".into()).await.err(),
            bare.amend(dead, "2".into(), "3".into()).await.err(),
            bare.run_now(&[id]).await.err(),
            bare.purge(Among::Waiting, "row_decides").await.err(),
            bare.purge(Among::Dead, "row_decides").await.err(),
            bare.delete_dead(&[dead]).await.err(),
            bare.redrive("all").run().await.err(),
            bare.add(new).await.err(),
            bare.pause(None).await.err(),
            bare.resume().await.err(),
            bare.job(JobId::named(b"unknown")).await.err(),
        ];
        for (number, refused) in refused.iter().enumerate() {
            assert!(matches!(refused, Some(QueueError::NeedsDatabase { .. })), "call {number}: {refused:?}");
        }
        assert!(desk.waits(id).await);
        assert_eq!(bare.stats().await.unwrap().rows, None);
        assert_eq!(place.number("SELECT COUNT(*) FROM evenkeel_jobs WHERE state = 1 AND version = 1").await, 2);
    }
}

// shows: hazard F4, queue::Topic::revoke, queue::Topic::reschedule, queue::Topic::purge, queue::Topic::pause
// shows: queue::Topic::resume
async fn pause_survives_flush<DB: Tested>(place: TestDatabase<DB>) {
    let desk = Desk::open(&place).await;
    desk.topic.pause(None).await.unwrap();
    // Redis says that another process sweeps, so the pause is restored by a consumer: it claims the job, does not start it, and pauses
    // the store.
    let (_, shard) = desk.queue.steps(&JobId([0; 16]));
    let flush = "redis.call('FLUSHALL') return redis.call('SET', ARGV[1], 'another')";
    desk.redis.command::<()>(&["EVAL", flush, "0", &format!("{}:sweep", shard.tag())]).await.unwrap();
    desk.queue.now(&1).await.unwrap();
    let (task, mut runs) = desk.consuming();
    while !desk.queue.topic().stats().await.unwrap().is_paused() {
        assert!(runs.try_recv().is_err(), "it began in a pause");
        tokio::task::yield_now().await;
    }
    desk.redis.command::<()>(&["FLUSHALL"]).await.unwrap();
    desk.queue.sweep_once().await.unwrap();
    assert!(desk.queue.topic().stats().await.unwrap().is_paused(), "restored by the sweep");
    assert!(runs.try_recv().is_err());
    desk.topic.resume().await.unwrap();
    assert_eq!(runs.recv().await, Some(1));
    task.abort();
}

async fn operators_do_not_change_a_running_job<DB: Tested>(place: TestDatabase<DB>) {
    let desk = Desk::open(&place).await;
    let id = desk.queue.now(&1).await.unwrap();
    let (began, mut beginnings) = mpsc::unbounded_channel();
    let (end, ends) = tokio::sync::watch::channel(false);
    let consumer = desk.queue.consume(move |_: Delivery<u32>| {
        let (began, mut ends) = (began.clone(), ends.clone());
        async move {
            let _ = began.send(());
            let _ = ends.wait_for(|end| *end).await;
            Ok::<_, Infallible>(())
        }
    });
    let task = tokio::spawn(async move { consumer.run(std::future::pending()).await.unwrap() });
    beginnings.recv().await.unwrap();
    assert_eq!(desk.topic.revoke(&[id]).await.unwrap(), [Revoked::Running]);
    assert_eq!(desk.topic.run_now(&[id]).await.unwrap(), [Rescheduled::Running]);
    assert_eq!(desk.topic.purge(Among::Waiting, "row_decides").await.unwrap(), 0);
    assert_eq!(desk.topic.delete_dead(&[id]).await.unwrap(), [false]);
    end.send(true).unwrap();
    until_no_row_lives(&place).await;
    assert!(beginnings.try_recv().is_err(), "once");
    task.abort();
}

async fn queue_with_rows_is_rejected_without_its_database<DB: Tested>(place: TestDatabase<DB>) {
    let desk = Desk::open(&place).await;
    let refused = desk.keel.queue::<u32>("row_decides").open().await.err().unwrap();
    assert!(refused.to_string().contains("sql(&pool)"), "{refused}");
    assert!(desk.keel.topic("row_decides").await.unwrap().needs_database(), "the attempt has not hidden it");
}

/// The same operations without rows: their results persist for as long as Redis keeps its data.
#[tokio::test]
async fn operators_agree_without_rows() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let keel = Keel::connect(&redis.url()).await.unwrap();
    let queue = keel.queue::<u32>("plain").open().await.unwrap();
    for is_flushed in [false, true] {
        let topic = queue.topic();
        assert!(!topic.needs_database());
        let ids = [queue.delay(HOUR, &1).await.unwrap(), queue.delay(HOUR, &2).await.unwrap()];
        assert_eq!(topic.revoke(&ids[..1]).await.unwrap(), [Revoked::Revoked]);
        assert_eq!(topic.reschedule(ids[1], When::In(DAY_MS)).await.unwrap(), Rescheduled::Changed);
        if is_flushed {
            redis.command::<()>(&["FLUSHALL"]).await.unwrap();
        }
        let stats = topic.stats().await.unwrap();
        assert_eq!((stats.total.waiting(), stats.rows), (u64::from(!is_flushed), None), "nothing comes back by itself");
        assert_eq!(topic.purge(Among::Waiting, "plain").await.unwrap(), u64::from(!is_flushed));
    }
}
