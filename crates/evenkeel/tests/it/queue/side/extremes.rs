//! Every public parameter at zero, one, its bounds, just above them, and at its largest: it is taken, shortened as documented, or refused in
//! a sentence. Nothing wedges, panics or overflows, and the next job runs.

use super::desk::{Desk, open};
use super::rig::{Rig, state};
use evenkeel::clock::UnixMs;
use evenkeel::queue::topic::JobState;
use evenkeel::queue::{
    Cron, Durability, Handled, JobBuilder, JobId, QueueBuilder, QueueError, Retries, RetryDelay, WhenFull,
};
use evenkeel_protocol::queue::steps::{Limits, PutAnswer, State};
use sqlx::SqlitePool;
use std::time::Duration;

on_both! {
    job_with_extreme_settings_is_accepted_or_rejected
    job_edited_to_an_extreme_is_accepted_or_rejected
    queue_with_extreme_settings_works_or_is_rejected
    consumer_with_extreme_settings_works_or_is_rejected
    schedule_with_an_extreme_name_is_an_error
    extreme_versions_and_progress_work_or_are_rejected
    pages_and_redrives_with_extreme_limits_end
    growth_to_an_extreme_shard_count_is_rejected
}

const DAY: Duration = Duration::from_secs(24 * 3600);
/// A thousand years are accepted, more is rejected.
pub(crate) const LONGEST: Duration = Duration::from_millis((1 << 45) - 1);

pub(super) fn spans() -> Vec<Duration> {
    let ms = Duration::from_millis(1);
    vec![
        Duration::ZERO,
        Duration::from_nanos(1),
        ms,
        Duration::from_secs(1),
        365 * DAY,
        365 * DAY + ms,
        LONGEST,
        LONGEST + ms,
        LONGEST + 2 * ms,
        Duration::MAX,
    ]
}

pub(super) const TIMES: [u64; 7] = [0, 1, 1 << 41, (1 << 45) - 1, 1 << 45, 1 << 48, u64::MAX];
pub(super) const SIZES: [usize; 5] = [0, 1, 60_000, 60_001, 1 << 20];

pub(crate) type Change = Box<dyn for<'a> Fn(JobBuilder<'a, String>) -> JobBuilder<'a, String>>;

pub(crate) fn changes() -> Vec<(String, Change)> {
    let mut all: Vec<(String, Change)> = Vec::new();
    for span in spans() {
        all.push((format!("delay {span:?}"), Box::new(move |order| order.delay(span))));
        all.push((format!("lateness {span:?}"), Box::new(move |order| order.drop_if_later_than(span))));
        all.push((format!("both {span:?}"), Box::new(move |order| order.delay(span).drop_if_later_than(span))));
        all.push((format!("window {span:?}"), Box::new(move |order| order.unique(format!("{span:?}"), span))));
        let id = format!("id {span:?}");
        all.push((format!("id and {span:?}"), Box::new(move |order| order.id(&id).unique(&id, span))));
        for delay in [RetryDelay::fixed(span), RetryDelay::exponential(span, Duration::MAX)] {
            all.push((format!("{delay:?}"), Box::new(move |order| order.retry_delay(delay))));
        }
    }
    for time in TIMES {
        all.push((format!("at {time}"), Box::new(move |order| order.at(UnixMs(time)))));
    }
    for size in SIZES {
        all.push((format!("id of {size}"), Box::new(move |order| order.id(vec![b'x'; size]))));
        all.push((format!("trace of {size}"), Box::new(move |order| order.trace(&"x".repeat(size)))));
        all.push((format!("header of {size}"), Box::new(move |order| order.header("x".repeat(size), ""))));
        let second = Duration::from_secs(1);
        all.push((format!("key of {size}"), Box::new(move |order| order.unique(vec![b'y'; size], second))));
    }
    for retries in [0, 1, u16::MAX - 1, u16::MAX] {
        all.push((format!("retries {retries}"), Box::new(move |order| order.retries(retries))));
    }
    all.push(("unlimited".to_owned(), Box::new(|order| order.retries(Retries::Unlimited))));
    all
}

// shows: hazard A6
async fn job_with_extreme_settings_is_accepted_or_rejected(rig: Rig) {
    let mail = rig.mail().await;
    for (what, change) in changes() {
        let sent = change(mail.job(&"extreme".to_owned())).enqueue().await;
        match sent {
            Ok(sent) => drop(mail.find(&sent.id).await.unwrap()),
            Err(QueueError::Invalid(_) | QueueError::TooLarge { .. }) => {}
            Err(error) => panic!("{what}: {error}"),
        }
    }
    let topic = mail.topic();
    topic.stats().await.unwrap();
    mail.job(&"fine".to_owned()).priority(evenkeel::queue::Priority::Urgent).enqueue().await.unwrap();
    let desk = Desk::new();
    let office = open(desk.consumer(&mail).concurrency(1).drain(Duration::ZERO));
    while desk.done().await != "fine" {}
    office.close().await;
}

// shows: hazard A6
async fn job_edited_to_an_extreme_is_accepted_or_rejected(rig: Rig) {
    let mail = rig.mail().await;
    let topic = mail.topic();
    let id = mail.delay(DAY, &"a".to_owned()).await.unwrap();
    for span in spans() {
        let answer = mail.reschedule_in(&id, span).await;
        assert_eq!(answer.is_ok(), span < LONGEST + Duration::from_millis(1), "{span:?}: {answer:?}");
    }
    for time in TIMES {
        let answer = mail.reschedule(&id, time).await;
        assert_eq!(answer.is_ok(), time < 1 << 45 && time != 1, "{time}: {answer:?}");
        assert_eq!(topic.pause(Some(time)).await.is_ok(), time != 1, "{time}");
        topic.set_limits(Limits { jobs_max: Some(time), bytes_max: Some(time) }).await.unwrap();
        topic.stats().await.unwrap();
    }
    topic.set_limits(Limits::default()).await.unwrap();
    topic.resume().await.unwrap();
    mail.now(&"fine".to_owned()).await.unwrap();
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    while desk.done().await != "fine" {}
    office.close().await;
}

pub(super) type Settings = Box<dyn Fn(QueueBuilder<String>) -> QueueBuilder<String>>;

pub(super) fn settings() -> Vec<(String, Settings)> {
    let mut all: Vec<(String, Settings)> = Vec::new();
    let mut spans = spans();
    spans.extend([12 * DAY / 24, 12 * DAY / 24 + Duration::from_millis(1), 400 * DAY, 401 * DAY]);
    for span in spans {
        all.push((format!("visibility {span:?}"), Box::new(move |queue| queue.visibility(span))));
        all.push((format!("id_window {span:?}"), Box::new(move |queue| queue.id_window(span))));
        all.push((format!("when_full {span:?}"), Box::new(move |queue| queue.when_full(WhenFull::Wait(span)))));
        for delay in [RetryDelay::fixed(span), RetryDelay::exponential(span, span)] {
            all.push((format!("{delay:?}"), Box::new(move |queue| queue.retry_delay(delay))));
        }
        for durability in [Durability::Replicas { count: u32::MAX, timeout: span }, Durability::Disk { timeout: span }]
        {
            all.push((format!("{durability:?}"), Box::new(move |queue| queue.durability(durability))));
        }
    }
    for limit in [0, 1, 1 << 20, u64::MAX - 1, u64::MAX] {
        all.push((format!("jobs_max {limit}"), Box::new(move |queue| queue.jobs_max(limit))));
        all.push((format!("bytes_max {limit}"), Box::new(move |queue| queue.bytes_max(limit))));
        let bytes = usize::try_from(limit).unwrap();
        all.push((format!("body_bytes_max {bytes}"), Box::new(move |queue| queue.body_bytes_max(bytes))));
    }
    for shards in [0, 1, 1024, 1025, u16::MAX] {
        all.push((format!("shards {shards}"), Box::new(move |queue| queue.shards(shards))));
    }
    for retries in [0, 1, u16::MAX - 1, u16::MAX] {
        all.push((format!("retries {retries}"), Box::new(move |queue| queue.retries(retries))));
    }
    all
}

// shows: hazard A6
async fn queue_with_extreme_settings_works_or_is_rejected(rig: Rig) {
    let keel = rig.process().await;
    for (number, (what, set)) in settings().into_iter().enumerate() {
        let queue = match set(keel.queue(&format!("queue-{number}"))).open().await {
            Ok(queue) => queue,
            Err(QueueError::Settings { .. }) => continue,
            Err(error) => panic!("{what}: {error}"),
        };
        let none = queue.with_durability(Durability::Replicas { count: 0, timeout: Duration::MAX }).await;
        assert!(matches!(none, Ok(_) | Err(QueueError::Settings { .. })), "{what}");
        // How long copies are waited for is the server's time, not the test's.
        if what.contains("timeout") {
            continue;
        }
        match queue.job(&"a".to_owned()).id("a").enqueue().await {
            Ok(_) if what.contains("shards") => {}
            Ok(_) => {
                let desk = Desk::new();
                let office = open(desk.consumer(&queue).drain(Duration::ZERO));
                desk.next().await.answer(Ok(Handled::Done));
                office.close().await;
            }
            Err(QueueError::TooLarge { .. } | QueueError::Full { .. }) => {}
            Err(error) => panic!("{what}: {error}"),
        }
    }
}

// shows: hazard A6, stream::Consumer::run
async fn consumer_with_extreme_settings_works_or_is_rejected(rig: Rig) {
    let mail = rig.mail().await;
    for concurrency in [0, 10_001, usize::MAX] {
        let refused = Desk::new().consumer(&mail).concurrency(concurrency).run(async {}).await;
        assert!(matches!(refused, Err(QueueError::Settings { .. })), "{concurrency}");
    }
    for size in [0, 10_001, usize::MAX] {
        let refused = mail.consume_batch(size, |_| async { Ok::<_, String>(()) }).run(async {}).await;
        assert!(matches!(refused, Err(QueueError::Settings { .. })), "{size}");
    }
    for limit in [Duration::ZERO, Duration::from_nanos(1), Duration::from_nanos(999_999)] {
        let refused = Desk::new().consumer(&mail).handler_timeout(limit).run(async {}).await;
        assert!(matches!(refused, Err(QueueError::Settings { .. })), "{limit:?}");
    }
    for span in spans() {
        let desk = Desk::new();
        let consumer = desk.consumer(&mail).concurrency(10_000).drain(span).crash_delay(span).crashes_max(0).fill(span);
        let consumer = consumer.handler_timeout(span.max(Duration::from_millis(1)));
        let office = open(consumer);
        let id = mail.now(&"a".to_owned()).await.unwrap();
        desk.next().await.answer(Ok(Handled::Done));
        super::rig::ended(&mail, &id).await;
        office.close().await;
    }
    // A batch that would wait forever for others starts when it is full.
    let full = mail.consume_batch(1, |_| async { Ok::<_, String>(()) }).fill(Duration::MAX).drain(Duration::MAX);
    let office = super::desk::open_any(full);
    let id = mail.now(&"a".to_owned()).await.unwrap();
    super::rig::ended(&mail, &id).await;
    office.close().await;
    assert_eq!(state(&mail, &id).await, None::<State>);
}

// shows: hazard A6
async fn schedule_with_an_extreme_name_is_an_error(rig: Rig) {
    let mail = rig.mail().await;
    let minutely = || "* * * * *".parse().unwrap();
    for size in [60_000, 1 << 20] {
        let long = mail.periodic("x".repeat(size), minutely(), |_| "tick".to_owned());
        let error = long.run(std::future::pending()).await.unwrap_err();
        assert!(matches!(error, QueueError::Invalid(_)), "{error}");
    }
    let panics = mail.periodic("panics", minutely(), |_| panic!("on purpose"));
    let error = panics.run(std::future::pending()).await.unwrap_err();
    assert!(error.to_string().contains("on purpose"), "{error}");
    assert_eq!(mail.topic().stats().await.unwrap().total.waiting(), 0);
}

// shows: hazard A6
async fn extreme_versions_and_progress_work_or_are_rejected(rig: Rig) {
    let mail = rig.mail().await;
    // Above 2^53 a number of a script is not exact.
    for version in [1, 2, (1 << 53) - 1, 1 << 53, (1 << 53) + 1, u64::MAX - 1, u64::MAX] {
        for _ in 0..2 {
            let put = mail.job(&version.to_string()).id("a").put(version).await.unwrap();
            assert_eq!(put, PutAnswer::Applied, "{version}");
        }
        let older = mail.job(&"older".to_owned()).id("a").put(version - 1).await;
        assert!(matches!(older, Ok(PutAnswer::Superseded) | Err(QueueError::Invalid(_))), "{version}: {older:?}");
        assert_eq!(mail.withdraw(&JobId::named(b"b"), version).await.unwrap(), PutAnswer::Applied, "{version}");
    }
    assert!(matches!(mail.job(&"a".to_owned()).id("c").put(0).await, Err(QueueError::Invalid(_))));
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let last = desk.next().await;
    assert_eq!(last.delivery.body, u64::MAX.to_string());
    for size in SIZES {
        let noted = last.delivery.progress(vec![b'x'; size]).await;
        assert_eq!(noted.is_ok(), size <= 60_000, "{size}: {noted:?}");
    }
    last.answer(Ok(Handled::Done));
    office.close().await;
}

// shows: hazard A6, hazard SF10
async fn pages_and_redrives_with_extreme_limits_end(rig: Rig) {
    let mail = rig.mail().await;
    let topic = mail.topic();
    for number in 0..3 {
        mail.job(&format!("{number}")).retries(0).enqueue().await.unwrap();
    }
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    for _ in 0..3 {
        desk.next().await.answer(Err("no".to_owned()));
    }
    while topic.stats().await.unwrap().total.dead < 3 {
        tokio::task::yield_now().await;
    }
    office.close().await;
    for limit in [0, 1, 3, 500, 501, usize::MAX] {
        match topic.peek(JobState::Dead, None, limit).await {
            Ok(page) => assert_eq!(page.jobs.len(), limit.min(3), "{limit}"),
            Err(QueueError::TooMany { .. }) => assert!(limit > 500, "{limit}"),
            Err(error) => assert!(matches!(error, QueueError::Invalid(_)) && limit == 0, "{limit}: {error}"),
        }
        let newest = topic.newest(JobState::Dead, None, limit).await.map(|page| page.len());
        let previews = topic.previews(JobState::Dead, None, limit).await.map(|page| page.jobs.len());
        let scanned = topic.scan(JobState::Dead, None, limit).await.map(|page| page.jobs.len());
        for found in [newest, previews, scanned] {
            match found {
                Ok(found) => assert_eq!(found, limit.min(3), "{limit}"),
                Err(QueueError::TooMany { .. }) => assert!(limit > 500, "{limit}"),
                Err(error) => assert!(matches!(error, QueueError::Invalid(_)) && limit == 0, "{limit}: {error}"),
            }
        }
    }
    for again in ["", "mai", &"x".repeat(1 << 20)] {
        assert!(matches!(topic.purge(JobState::Dead, again).await, Err(QueueError::Invalid(_))));
    }
    for (number, (per_second, limit)) in [(1, 0), (u32::MAX, 0), (u32::MAX, 1), (1, u64::MAX)].into_iter().enumerate() {
        let name = "x".repeat(number << 18);
        let report = topic.redrive(&name).per_second(per_second).limit(limit).run().await.unwrap();
        assert_eq!(report.taken, [0, 0, 1, 2][number], "{per_second} a second, {limit} in all");
    }
    let none = topic.redrive("none").per_second(0).run().await;
    assert!(matches!(none, Err(QueueError::Invalid(_))), "{none:?}");
    assert_eq!(topic.redrive("").dry_run().await.unwrap().dead, 0);
}

// shows: hazard A6
async fn growth_to_an_extreme_shard_count_is_rejected(rig: Rig) {
    let mail = rig.mail().await;
    for shards in [0, 1025, u16::MAX] {
        let refused = mail.topic().grow(shards).await;
        assert!(matches!(refused, Err(QueueError::Invalid(_))), "{shards}: {refused:?}");
    }
    assert_eq!(mail.topic().grow(1).await.unwrap().moved, 0);
}

/// No row is kept from the store for longer than the longest wait, or enqueued there before its time.
// shows: hazard A6
#[tokio::test]
async fn horizon_of_extreme_length_works_or_is_rejected() {
    let database = testkit::park::sqlite_database().unwrap();
    let pool = SqlitePool::connect(&database.url).await.unwrap();
    evenkeel::sql::migrate(&pool).await.unwrap();
    let keel = evenkeel::Keel::memory();
    let minute = Duration::from_secs(60);
    let spans = [Duration::ZERO, minute - Duration::from_millis(1), minute, LONGEST, Duration::MAX];
    for (number, span) in spans.into_iter().enumerate() {
        let builder = keel.queue::<String>(&format!("queue-{number}")).sql(&pool).horizon(span);
        match builder.open().await {
            Ok(queue) => {
                assert!(span >= minute, "{span:?}");
                let id = queue.delay(DAY, &"a".to_owned()).await.unwrap();
                assert!(queue.find(&id).await.unwrap().is_some(), "{span:?}");
                assert_eq!(queue.topic().peek(JobState::Waiting, None, 9).await.unwrap().jobs.len(), 1, "{span:?}");
            }
            Err(error) => assert!(matches!(error, QueueError::Settings { .. }) && span < minute, "{span:?}: {error}"),
        }
    }
}

#[test]
fn zone_with_an_extreme_name_is_rejected() {
    for name in ["", "\0", "../../etc/passwd", &"x".repeat(1 << 20)] {
        let hourly: Cron = "0 * * * *".parse().unwrap();
        assert!(hourly.in_zone(name).is_err());
    }
}
