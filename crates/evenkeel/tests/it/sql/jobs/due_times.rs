//! Every way in which a time is given: one in seconds is rejected, and one in the past means now.

use crate::sql::databases::TestDatabase;
use evenkeel::Keel;
use evenkeel::clock::UnixMs;
use evenkeel::queue::topic::{NewTopicJob, Topic};
use evenkeel::queue::{JobId, Queue, QueueError};
use evenkeel::stream::StreamError;
use evenkeel::stream::admin::SeekTo;
use evenkeel_protocol::queue::steps::{Found, Reschedule, When};
use sqlx::Sqlite;
use std::time::Duration;
use testkit::park::redis;

const HOUR: Duration = Duration::from_secs(3_600);
const HOUR_MS: u64 = 3_600_000;
/// In November 2023, as seconds.
const SECONDS: UnixMs = UnixMs(1_700_000_000);

/// How a job is given its due time.
#[derive(Clone, Copy, Debug)]
enum Way {
    At,
    Job,
    Many,
    TopicAdd,
    Reschedule,
    TopicReschedule,
    TopicChange,
}

const WAYS: [Way; 7] =
    [Way::At, Way::Job, Way::Many, Way::TopicAdd, Way::Reschedule, Way::TopicReschedule, Way::TopicChange];

/// A queue, and its topic as an operator has it.
struct Place {
    queue: Queue<u32>,
    topic: Topic,
}

impl Place {
    /// Gives a job this due time.
    async fn give(&self, way: Way, due: UnixMs) -> Result<JobId, QueueError> {
        let Self { queue, topic } = self;
        let when = When::At(due.0);
        let waiting = async || queue.delay(HOUR, &1).await;
        match way {
            Way::At => queue.at(due, &1).await,
            Way::Job => queue.job(&1).at(due).enqueue().await.map(|sent| sent.id),
            Way::Many => queue.enqueue_all([queue.job(&1).at(due)]).await.map(|sent| sent[0].id),
            Way::TopicAdd => {
                let new = NewTopicJob {
                    body: "1".into(),
                    when,
                    name: None,
                    unique: None,
                    priority: Default::default(),
                    retries: None,
                };
                topic.add(new).await.map(|(id, _)| id)
            }
            Way::Reschedule => {
                let id = waiting().await?;
                queue.reschedule(&id, due).await.map(|_| id)
            }
            Way::TopicReschedule => {
                let id = waiting().await?;
                topic.reschedule(id, when).await.map(|_| id)
            }
            Way::TopicChange => {
                let id = waiting().await?;
                let change = Reschedule { id, when: Some(when), body: Some("2".into()), codec: None };
                topic.change(change).await.map(|_| id)
            }
        }
    }

    async fn due(&self, id: JobId) -> u64 {
        let found = self.topic.job(id).await.unwrap();
        let Some(Found::Live { score, .. }) = found else { panic!("{found:?}") };
        score
    }
}

/// Whether an error says that a time was given in seconds.
fn is_of_seconds(error: &impl ToString) -> bool {
    error.to_string().contains("looks like seconds")
}

/// A row accepted a time in seconds as one in the past: the job ran at once. Of jobs without rows every way rejected it.
// shows: hazard SF5
#[tokio::test]
async fn time_in_seconds_is_rejected_and_one_in_the_past_is_now() {
    let server = redis().await.unwrap();
    let on_redis = Keel::connect(&format!("{}?prefix={}", server.url, server.prefix)).await.unwrap();
    for keel in [Keel::memory(), on_redis] {
        let place = TestDatabase::<Sqlite>::open().await;
        for has_rows in [false, true] {
            let builder = keel.queue(if has_rows { "rows" } else { "plain" });
            let queue = if has_rows { builder.sql(&place.pool).open().await } else { builder.open().await }.unwrap();
            let topic = queue.topic();
            let of_queue = Place { queue, topic };
            for way in WAYS {
                let refused = of_queue.give(way, SECONDS).await;
                let is_refused = matches!(&refused, Err(error @ QueueError::Invalid(_)) if is_of_seconds(error));
                assert!(is_refused, "{way:?}, rows: {has_rows}: {refused:?}");
                let now = of_queue.topic.now_ms();
                let id = of_queue.give(way, UnixMs(now - HOUR_MS)).await.unwrap();
                // Far less than the hour, and more than two clocks differ.
                assert!(of_queue.due(id).await + HOUR_MS / 2 > now, "{way:?}, rows: {has_rows}");
            }
            let paused = of_queue.topic.pause(Some(SECONDS.0)).await;
            assert!(paused.as_ref().is_err_and(is_of_seconds), "{paused:?}");
        }
    }
}

// shows: hazard SF5
#[tokio::test]
async fn time_of_a_unit_of_work_in_seconds_is_rejected_and_one_in_the_past_is_now() {
    let (keel, place) = (Keel::memory(), TestDatabase::<Sqlite>::open().await);
    let queue: Queue<u32> = keel.queue("mail").open().await.unwrap();
    let mut work = keel.begin(&place.pool).await.unwrap();
    let refused = [work.enqueue(queue.job(&1).at(SECONDS)), work.reschedule(queue.job(&1).id("a").at(SECONDS))];
    assert!(refused.iter().all(|refused| refused.as_ref().is_err_and(is_of_seconds)), "{refused:?}");
    let now = queue.topic().now_ms();
    let past = UnixMs(now - HOUR_MS);
    let ids = [work.enqueue(queue.job(&1).at(past)).unwrap(), work.reschedule(queue.job(&1).id("a").at(past)).unwrap()];
    assert!(work.commit().await.unwrap().carried_out);
    let json = format!(r#"[{{"enqueue": {{"topic": "mail", "id": "json", "body": 1, "due_at": {}}}}}]"#, past.0);
    sqlx::query("INSERT INTO evenkeel_outbox_json (effects) VALUES (?)").bind(json).execute(&place.pool).await.unwrap();
    let relay = keel.relay(&place.pool);
    let of_json = JobId::named(b"json");
    while queue.find(&of_json).await.unwrap().is_none() {
        relay.run_once().await.unwrap();
    }
    let topic = queue.topic();
    let place = Place { queue, topic };
    for id in ids.into_iter().chain([of_json]) {
        assert!(place.due(id).await + HOUR_MS / 2 > now, "{id}");
    }
}

// shows: hazard SF5
#[tokio::test]
async fn seek_or_pause_with_a_time_in_seconds_is_rejected() {
    let keel = Keel::memory();
    let orders = keel.stream::<String>("orders").open().await.unwrap();
    let admin = orders.admin();
    let is_refused = |answer: Result<(), StreamError>| {
        assert!(matches!(&answer, Err(error @ StreamError::Invalid(_)) if is_of_seconds(error)), "{answer:?}");
    };
    is_refused(admin.seek("billing", SeekTo::Time(SECONDS)).await);
    is_refused(admin.preview_seek("billing", SeekTo::Time(SECONDS)).await.map(drop));
    is_refused(admin.pause("billing", Some(SECONDS)).await);
}
