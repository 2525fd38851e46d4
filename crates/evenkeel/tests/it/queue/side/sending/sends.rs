//! Enqueueing jobs.

use crate::queue::side::desk::{Desk, open};
use crate::queue::side::rig::{Rig, state};
use evenkeel::codec::Integer;
use evenkeel::queue::{Handled, JobId, Queue, QueueError, WhenFull};
use evenkeel_protocol::queue::job::{End, Priority};
use evenkeel_protocol::queue::steps::{Enqueued, Found, PutAnswer, Rescheduled, Revoked, State};
use std::time::Duration;

on_both! {
    job_with_an_id_is_enqueued_once
    unique_key_rejects_duplicates_within_its_window
    enqueue_all_returns_one_result_per_job
    body_above_the_limit_is_not_sent
    full_queue_rejects_by_default
    full_queue_delays_senders_if_configured
    waiting_job_is_revoked_rescheduled_and_edited
    job_past_its_deadline_is_dropped
    topic_keeps_its_shard_count
    topics_are_isolated
    newest_version_of_a_job_wins
}

// shows: Q5, queue::Queue::now, queue::Queue::at, queue::Queue::delay, queue::Queue::enqueue_all
// shows: queue::JobBuilder::enqueue
async fn job_with_an_id_is_enqueued_once(rig: Rig) {
    let mail = rig.mail().await;
    let body = "a".to_owned();
    let first = mail.job(&body).id("order/1").enqueue().await.unwrap();
    let again = mail.job(&body).id("order/1").enqueue().await.unwrap();
    assert_eq!((first.answer, again.answer), (Enqueued::Created, Enqueued::Duplicate));
    assert_eq!(first.id, again.id);
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    desk.done().await;
    office.close().await;
    let later = mail.job(&body).id("order/1").enqueue().await.unwrap();
    assert_eq!(later.answer, Enqueued::Ended(End::Done));
    rig.advance(Duration::from_secs(24 * 3600)).await;
    assert!(mail.job(&body).id("order/1").enqueue().await.unwrap().is_new(), "after id_window it is new");
}

// shows: Q5
async fn unique_key_rejects_duplicates_within_its_window(rig: Rig) {
    let mail = rig.mail().await;
    let window = Duration::from_secs(60);
    let body = "a".to_owned();
    assert!(mail.job(&body).unique("user/1", window).enqueue().await.unwrap().is_new());
    assert_eq!(mail.job(&body).unique("user/1", window).enqueue().await.unwrap().answer, Enqueued::Duplicate);
    assert!(mail.job(&body).unique("user/2", window).enqueue().await.unwrap().is_new());
    let named = mail.job(&body).id("x").unique("user/3", window).enqueue().await.unwrap();
    let taken = mail.job(&body).id("y").unique("user/3", window).enqueue().await.unwrap();
    assert_eq!(taken.answer, Enqueued::Taken(named.id));
    rig.advance(window).await;
    assert!(mail.job(&body).id("z").unique("user/3", window).enqueue().await.unwrap().is_new());

    let sharded: Queue<String> = rig.process().await.queue("sharded").shards(2).open().await.unwrap();
    let refused = sharded.job(&body).id("x").unique("user/1", window).enqueue().await.unwrap_err();
    assert!(refused.to_string().contains("one shard"), "{refused}");
}

async fn enqueue_all_returns_one_result_per_job(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.shards(3)).await;
    let body = "a".to_owned();
    assert!(mail.job(&body).id("5").enqueue().await.unwrap().is_new());
    let orders = (0..1_200).map(|number| mail.job(&body).id(number.to_string()));
    let sent = mail.enqueue_all(orders).await.unwrap();
    assert_eq!(sent.len(), 1_200);
    for (number, sent) in sent.iter().enumerate() {
        assert_eq!(sent.id, JobId::named(number.to_string().as_bytes()));
        assert_eq!(sent.is_new(), number != 5, "{number}");
    }
}

// shows: queue::Queue::now, queue::Queue::at, queue::Queue::delay, queue::Queue::enqueue_all
// shows: queue::JobBuilder::enqueue
async fn body_above_the_limit_is_not_sent(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.body_bytes_max(10)).await;
    assert!(mail.now(&"12345678".to_owned()).await.is_ok(), "ten bytes with its quotes");
    let refused = mail.now(&"123456789".to_owned()).await.unwrap_err();
    assert!(matches!(refused, QueueError::TooLarge { bytes: 11, limit: 10 }), "{refused}");
    assert!(!refused.is_retryable());
    let batch = mail.enqueue_all([mail.job(&"fits".to_owned()), mail.job(&"does not fit".to_owned())]).await;
    assert!(matches!(batch, Err(QueueError::TooLarge { .. })), "all or nothing is sent");
}

// shows: hazard SF10, queue::Queue::now, queue::Queue::at, queue::Queue::delay, queue::Queue::enqueue_all
// shows: queue::JobBuilder::enqueue
async fn full_queue_rejects_by_default(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.jobs_max(2)).await;
    let body = "a".to_owned();
    let sent = mail.enqueue_all((0..3).map(|_| mail.job(&body))).await.unwrap();
    let answers: Vec<Enqueued> = sent.iter().map(|sent| sent.answer).collect();
    assert_eq!(answers, [Enqueued::Created, Enqueued::Created, Enqueued::Full]);
    let refused = mail.now(&body).await.unwrap_err();
    assert!(matches!(refused, QueueError::Full { .. }) && refused.is_retryable() && !refused.outcome_unknown());

    // Shares that were rounded up allowed a job for each shard.
    let keel = rig.process().await;
    let none = keel.queue::<String>("shards").shards(4).jobs_max(3).open().await.err().unwrap();
    assert!(matches!(&none, QueueError::Invalid(why) if why.contains("set at least 4")), "{none}");
    let shards: Queue<String> = keel.queue("shards").shards(4).jobs_max(7).open().await.unwrap();
    let sent = shards.enqueue_all((0..100).map(|_| shards.job(&body))).await.unwrap();
    assert_eq!(sent.iter().filter(|sent| sent.is_new()).count(), 4, "one for each shard");

    let bytes: Queue<String> = rig.process().await.queue("bytes").bytes_max(200).open().await.unwrap();
    bytes.now(&"x".repeat(100)).await.unwrap();
    assert!(matches!(bytes.now(&"x".repeat(100)).await, Err(QueueError::Full { .. })));
}

// shows: queue::Queue::now, queue::Queue::at, queue::Queue::delay, queue::Queue::enqueue_all
// shows: queue::JobBuilder::enqueue
async fn full_queue_delays_senders_if_configured(rig: Rig) {
    let wait_max = WhenFull::Wait(Duration::from_secs(10));
    let mail = rig.mail_with(|builder| builder.jobs_max(1).when_full(wait_max)).await;
    mail.now(&"first".to_owned()).await.unwrap();
    let refused = rig.while_time_passes(mail.now(&"in vain".to_owned())).await;
    assert!(matches!(refused, Err(QueueError::Full { .. })), "{refused:?}");

    let sender = {
        let mail = mail.clone();
        tokio::spawn(async move { mail.now(&"second".to_owned()).await })
    };
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    assert_eq!(desk.done().await, "first");
    assert_eq!(rig.while_time_passes(desk.done()).await, "second");
    sender.await.unwrap().unwrap();
    office.close().await;
}

// shows: Q4, queue::Queue::revoke, queue::Queue::reschedule, queue::Queue::reschedule_in, queue::Topic::revoke
// shows: queue::Queue::edit
async fn waiting_job_is_revoked_rescheduled_and_edited(rig: Rig) {
    let mail = rig.mail().await;
    let minute = Duration::from_secs(60);
    let revoked = mail.delay(minute, &"never".to_owned()).await.unwrap();
    let moved = mail.at(rig.now_ms() + 60_000_u64, &"old".to_owned()).await.unwrap();
    assert_eq!(mail.revoke(&revoked).await.unwrap(), Revoked::Revoked);
    assert_eq!(mail.revoke(&JobId::named(b"nobody")).await.unwrap(), Revoked::Unknown);
    assert_eq!(mail.reschedule(&moved, rig.now_ms()).await.unwrap(), Rescheduled::Changed);
    assert_eq!(mail.edit(&moved, &"new".to_owned()).await.unwrap(), Rescheduled::Changed);
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let case = desk.next().await;
    assert_eq!((case.delivery.body.as_str(), case.delivery.id), ("new", moved));
    assert_eq!(mail.revoke(&moved).await.unwrap(), Revoked::Running);
    assert_eq!(mail.reschedule_in(&moved, minute).await.unwrap(), Rescheduled::Running);
    case.answer(Ok(Handled::Done));
    office.close().await;
}

async fn job_past_its_deadline_is_dropped(rig: Rig) {
    let mail = rig.mail().await;
    let order = mail.job(&"late".to_owned()).id("late").drop_if_later_than(Duration::from_secs(5));
    let late = order.enqueue().await.unwrap().id;
    mail.now(&"any time".to_owned()).await.unwrap();
    rig.advance(Duration::from_secs(6)).await;
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    assert_eq!(desk.done().await, "any time");
    office.close().await;
    let found = mail.find(&late).await.unwrap();
    assert!(matches!(&found, Some(Found::Ended(completion)) if completion.end == End::Expired), "{found:?}");
}

/// Two programs that disagree about the number of shards look up a job in two places.
// shows: Q9, queue::QueueBuilder::open
async fn topic_keeps_its_shard_count(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.shards(4)).await;
    let id = mail.now(&"a".to_owned()).await.unwrap();
    let same = rig.mail().await;
    assert_eq!(state(&same, &id).await, Some(State::Waiting(Priority::Normal)), "without a number it gets the four");
    let refused = rig.process().await.queue::<String>("mail").shards(5).open().await.err().unwrap();
    assert!(refused.to_string().contains("has 4 shards"), "{refused}");
}

// shows: Q9
async fn topics_are_isolated(rig: Rig) {
    let mail = rig.mail().await;
    let counts: Queue<u64> = rig.process().await.queue("counts").codec(Integer).open().await.unwrap();
    counts.job(&1).id("same").enqueue().await.unwrap();
    assert!(mail.job(&"a".to_owned()).id("same").enqueue().await.unwrap().is_new());
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    assert_eq!(desk.done().await, "a");
    office.close().await;
    assert!(matches!(counts.find(&JobId::named(b"same")).await.unwrap(), Some(Found::Live { .. })));
}

/// A job that follows a row was revived because an older change of the row arrived later.
// shows: queue::JobBuilder::put, queue::Queue::withdraw
async fn newest_version_of_a_job_wins(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.shards(2)).await;
    let put = async |version: u64, body: &str, delay: u64| {
        let order = mail.job(&body.to_owned()).id("row/7").delay(Duration::from_secs(delay));
        order.put(version).await.unwrap()
    };
    let id = JobId::named(b"row/7");
    assert_eq!(put(5, "five", 60).await, PutAnswer::Applied);
    assert_eq!(put(4, "four", 0).await, PutAnswer::Superseded);
    assert_eq!(put(6, "six", 30).await, PutAnswer::Applied);
    let Some(Found::Live { score, job, .. }) = mail.find(&id).await.unwrap() else { panic!("it is gone") };
    assert_eq!((score, job.spec.version, &job.spec.body[..]), (rig.now_ms() + 30_000, Some(6), &b"\"six\""[..]));
    assert_eq!(mail.withdraw(&id, 7).await.unwrap(), PutAnswer::Applied);
    assert_eq!(put(6, "six", 0).await, PutAnswer::Superseded);
    assert_eq!(state(&mail, &id).await, None);
    assert_eq!(put(8, "eight", 0).await, PutAnswer::Applied);
    let nameless = mail.job(&String::new()).put(1).await;
    assert!(matches!(nameless, Err(QueueError::Invalid(_))), "{nameless:?}");
}
