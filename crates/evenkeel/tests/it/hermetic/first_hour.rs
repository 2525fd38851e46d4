//! What a user writes in the first hour: it compiles with these imports, and returns what the documents say.

use evenkeel::Keel;
use evenkeel::cache::Incomplete;
use evenkeel::lock::LockError;
use evenkeel::queue::topic::{Page, Seen, Stats, TopicStats, Totals};
use evenkeel::queue::{
    Delivery, End, Enqueued, Found, Handled, JobId, Priority, Queue, Rescheduled, Revoked, Sent, State,
};
use evenkeel::sql::relay::{OutboxStats, SeenKey, SeenWork, WorkState};
use evenkeel::sql::{Committed, Left, Message, Outbox, PassReport, Relay, SqlError, migrate};
use evenkeel::testing::TestClock;
use futures_util::poll;
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{Sqlite, SqlitePool};
use std::convert::Infallible;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::oneshot;

async fn open() -> (Keel, SqlitePool) {
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect("sqlite::memory:")
        .await
        .unwrap();
    let migrating = pool.clone();
    // The future can be spawned.
    tokio::spawn(async move { migrate(&migrating).await }).await.unwrap().unwrap();
    (Keel::memory(), pool)
}

/// Functions of a service that name what the calls answer.
struct Answers {
    found: Option<Found>,
    moved: Rescheduled,
    revoked: Revoked,
    stats: TopicStats,
    page: Page,
}

async fn operate(keel: &Keel, mail: &Queue<String>, id: &JobId) -> Answers {
    let topic = keel.topic("mail").await.unwrap();
    Answers {
        found: mail.find(id).await.unwrap(),
        moved: mail.reschedule_in(id, Duration::from_secs(60)).await.unwrap(),
        page: topic.peek(evenkeel::queue::topic::JobState::Waiting, None, 10).await.unwrap(),
        stats: topic.stats().await.unwrap(),
        revoked: mail.revoke(id).await.unwrap(),
    }
}

// shows: hazard S19
#[tokio::test]
async fn operator_types_are_exported_from_queue() {
    let keel = Keel::memory();
    let mail = keel.queue::<String>("mail").open().await.unwrap();
    let id = mail.delay(Duration::from_secs(600), &"hello".to_owned()).await.unwrap();
    let Answers { found, moved, revoked, stats, page } = operate(&keel, &mail, &id).await;
    let seen: &[Seen] = &page.jobs;
    let (total, totals): (&Stats, &Totals) = (&stats.total, &stats.total.totals);
    let waits = State::Waiting(Priority::default());
    assert!(matches!(found, Some(Found::Live { state, .. }) if state == waits));
    assert_eq!(moved, Rescheduled::Changed);
    assert_eq!(
        (seen.len(), stats.waiting(), stats.due(), stats.running(), stats.dead(), stats.done()),
        (1, 1, 0, 0, 0, 0)
    );
    assert_eq!((total.waiting(), totals.done), (1, 0));
    assert_eq!(revoked, Revoked::Revoked);
}

// shows: hazard S19
#[tokio::test]
async fn relay_and_outbox_types_are_exported_from_sql() {
    let (keel, pool) = open().await;
    let relay: Relay<Sqlite> = keel.relay(&pool).attempts_max(5);
    let report: Result<PassReport, SqlError> = relay.run_once().await;
    assert!(report.unwrap().is_idle());
    let mut work = keel.begin(&pool).await.unwrap();
    work.publish(Message::new("orders", "sold").key("order/7")).unwrap();
    let committed: Committed = work.commit().await.unwrap();
    // A message with a key is always a relay's: nothing is wrong.
    assert!(!committed.carried_out && committed.left == Left::KeyedMessages, "{committed:?}");
    // Without a sink the relay sends nothing, and loses nothing.
    assert_eq!(relay.run_once().await.unwrap().sent, 0);
    let outbox = Outbox::new(&pool);
    let works: Vec<SeenWork> = outbox.units(WorkState::Parked, None, 10).await.unwrap();
    let keys: Vec<SeenKey> = outbox.keys(false, (String::new(), String::new()), 10).await.unwrap();
    let stats: OutboxStats = outbox.stats().await.unwrap();
    assert_eq!((works.len(), keys.len(), stats.parked), (0, 1, 0));
}

async fn named(names: Vec<String>) -> Result<Vec<(String, u64)>, Infallible> {
    Ok(names.into_iter().map(|name| (name, 7)).collect())
}

// shows: hazard S19
#[tokio::test]
async fn cache_accepts_borrowed_keys_of_every_form() {
    let keel = Keel::memory();
    let users = keel.cache::<u64, String>("user").ttl(Duration::from_secs(600)).open().await.unwrap();
    let found = users.get(&42, |&id| async move { Ok::<_, Infallible>(Some(id.to_string())) }).await.unwrap();
    assert_eq!(found.as_deref().map(String::as_str), Some("42"));
    let stock = keel.cache::<String, u64>("stock").ttl(Duration::from_secs(600)).open().await.unwrap();
    let one = stock.get("tea", |name| named(vec![name.to_owned()]).into_one()).await.unwrap();
    let many: Result<_, Incomplete<String, u64>> = stock.get_many(["tea", "salt"], named).await;
    let owned = ["tea".to_owned()];
    let again = stock.get_many(&owned, named).await.unwrap();
    assert_eq!((one.as_deref(), many.unwrap().len(), again["tea"].as_deref()), (Some(&7), 2, Some(&7)));
}

/// The only value.
trait One {
    async fn into_one(self) -> Result<Option<u64>, Infallible>;
}

impl<T: Future<Output = Result<Vec<(String, u64)>, Infallible>>> One for T {
    async fn into_one(self) -> Result<Option<u64>, Infallible> {
        Ok(self.await?.pop().map(|(_, value)| value))
    }
}

/// What the queue records of a completed job depends on whether the caller chose its id.
// shows: hazard S19
#[tokio::test]
async fn revoke_of_done_job_with_generated_id_is_unknown() {
    let keel = Keel::memory();
    let mail = keel.queue::<String>("mail").open().await.unwrap();
    let generated = mail.now(&"one".to_owned()).await.unwrap();
    let chosen: Sent = mail.job(&"two".to_owned()).id("order/7").enqueue().await.unwrap();
    assert_eq!(chosen.answer, Enqueued::Created);
    let (done, mut all) = tokio::sync::mpsc::unbounded_channel();
    let consumer = mail.consume(move |_: Delivery<String>| {
        let done = done.clone();
        async move {
            done.send(()).unwrap();
            Ok::<_, Infallible>(Handled::Done)
        }
    });
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(consumer.run(async { drop(stopped.await) }));
    for _ in 0..2 {
        all.recv().await.unwrap();
    }
    drop(stop);
    running.await.unwrap().unwrap();
    assert_eq!(mail.revoke(&generated).await.unwrap(), Revoked::Unknown);
    assert_eq!(mail.revoke(&chosen.id).await.unwrap(), Revoked::Ended(End::Done));
}

/// As the documentation of `Keel::lock` says.
// shows: hazard S19
#[tokio::test]
async fn acquire_waits_thirty_seconds_by_default() {
    let clock = TestClock::default();
    let keel = Keel::builder().clock(clock.clock()).memory();
    let _held = keel.lock("stock/42").ttl(Duration::from_secs(600)).acquire().await.unwrap();
    let second = keel.lock("stock/42");
    let mut waiting = Box::pin(second.acquire());
    let mut seconds = 0;
    let answer = loop {
        if let Poll::Ready(answer) = poll!(&mut waiting) {
            break answer;
        }
        clock.advance(Duration::from_secs(1));
        seconds += 1;
        assert!(seconds < 600, "it waits longer");
        tokio::task::yield_now().await;
    };
    assert!(matches!(answer, Err(LockError::Busy { .. })) && seconds >= 30, "after {seconds} s");
}
