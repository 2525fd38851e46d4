//! Calls return the errors that their documentation names.

use super::desk::Desk;
use super::rig::{Rig, in_time, state};
use evenkeel::queue::topic::JobState;
use evenkeel::queue::{Cron, Durability, JobId, Queue, QueueError};
use std::time::Duration;

on_both! {
    queue_calls_return_their_documented_errors
    tick_with_an_oversized_body_is_an_error
    tick_whose_body_panics_is_an_error
    tick_whose_encoder_panics_is_an_error
}

// shows: queue::Queue::with_durability, queue::Queue::edit, queue::JobBuilder::put, queue::Queue::withdraw
// shows: queue::Cron::in_zone, queue::Topic::list, queue::Topic::peek
async fn queue_calls_return_their_documented_errors(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.body_bytes_max(10)).await;
    let (body, minute) = ("a".to_owned(), Duration::from_secs(60));
    let without_a_version = mail.job(&body).id("x").put(0).await;
    let with_a_unique_key = mail.job(&body).id("x").unique("key", minute).put(1).await;
    let withdrawn_without_a_version = mail.withdraw(&JobId::named(b"x"), 0).await;
    for refused in [without_a_version, with_a_unique_key, withdrawn_without_a_version] {
        assert!(matches!(refused, Err(QueueError::Invalid(_))), "{refused:?}");
    }
    let waiting = mail.delay(minute, &body).await.unwrap();
    let edited = mail.edit(&waiting, &"123456789".to_owned()).await;
    assert!(matches!(edited, Err(QueueError::TooLarge { bytes: 11, limit: 10 })), "{edited:?}");
    let page = mail.topic().list(JobState::Waiting, None, 501).await;
    assert!(matches!(page, Err(QueueError::TooMany { items: 501, limit: 500 })), "{page:?}");
    let without_a_database = mail.with_durability(Durability::Sql).await.err().unwrap();
    assert!(matches!(without_a_database, QueueError::Settings { .. }), "{without_a_database}");
    let daily: Cron = "0 0 * * *".parse().unwrap();
    assert!(daily.in_zone("Mars/Olympus").unwrap_err().to_string().contains("Mars/Olympus"));
}

// shows: queue::Periodic::run
async fn tick_with_an_oversized_body_is_an_error(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.body_bytes_max(10)).await;
    let schedule = mail.periodic("minutely", "* * * * *".parse().unwrap(), |_| "much too long".to_owned());
    let ended = schedule.run(std::future::pending()).await;
    assert!(matches!(ended, Err(QueueError::TooLarge { .. })), "{ended:?}");
}

// shows: hazard A2, queue::Periodic::run
async fn tick_whose_body_panics_is_an_error(rig: Rig) {
    let mail = rig.mail().await;
    let schedule = mail.periodic("minutely", "* * * * *".parse().unwrap(), |_| panic!("no body today"));
    let ended = schedule.run(std::future::pending()).await;
    assert!(matches!(&ended, Err(QueueError::Invalid(why)) if why.contains("no body today")), "{ended:?}");
}

/// The panic ended the task that ran the schedule.
// shows: hazard A2
async fn tick_whose_encoder_panics_is_an_error(rig: Rig) {
    struct Unwritable;
    impl serde::Serialize for Unwritable {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            panic!("no words today")
        }
    }
    impl<'de> serde::Deserialize<'de> for Unwritable {
        fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            <()>::deserialize(from).map(|()| Self)
        }
    }
    let mail: Queue<Unwritable> = rig.process().await.queue("mail").open().await.unwrap();
    let schedule = mail.periodic("minutely", "* * * * *".parse().unwrap(), |_| Unwritable);
    let ended = schedule.run(std::future::pending()).await;
    assert!(matches!(&ended, Err(QueueError::Invalid(why)) if why.contains("no words today")), "{ended:?}");
    assert_eq!(mail.topic().stats().await.unwrap().total.waiting(), 0);
}

/// A program that closes its keel first must not wait forever for its consumers.
// shows: hazard A7, queue::Consumer::run
#[tokio::test]
async fn consumer_fails_when_its_keel_is_shut_down() {
    in_time(async {
        let rig = Rig::redis().await;
        let keel = rig.process().await;
        let mail: Queue<String> = keel.queue("mail").open().await.unwrap();
        let (desk, elsewhere) = (Desk::new(), rig.mail().await);
        let consuming =
            tokio::spawn(desk.consumer(&mail).drain(Duration::from_secs(3_600)).run(std::future::pending()));
        let id = mail.now(&"a".to_owned()).await.unwrap();
        assert_eq!(desk.done().await, "a");
        while state(&elsewhere, &id).await.is_some() {}
        keel.shutdown(Duration::ZERO).await;
        let ended = consuming.await.unwrap();
        assert!(matches!(ended, Err(QueueError::Link(_))), "{ended:?}");
    })
    .await;
}
