//! Topics in the register, also after a flush.

use crate::queue::side::desk::{Desk, open};
use crate::queue::side::rig::{Mail, Rig, in_time, state};
use evenkeel::Keel;
use evenkeel::queue::{Handled, JobId, QueueError};
use evenkeel_protocol::queue::steps::ReadStats;
use std::time::Duration;

/// Removes the topics from the register, as a flush does.
async fn forget_topics(rig: &Rig) -> Keel {
    let keel = rig.process().await;
    let key = format!("{}:q:topics", rig.prefix());
    keel.link().unwrap().command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await.unwrap();
    assert!(keel.topics().await.unwrap().found.is_empty());
    keel
}

async fn is_registered(keel: &Keel) {
    while keel.topics().await.unwrap().found.iter().all(|topic| topic.name() != "mail") {
        tokio::task::yield_now().await;
    }
}

// shows: hazard A4
#[tokio::test]
async fn consumer_registers_its_topic_again_after_a_flush() {
    let story = async {
        let rig = Rig::redis().await;
        let mail = rig.mail_with(|builder| builder.jobs_max(1)).await;
        let desk = Desk::new();
        let office = open(desk.consumer(&mail));
        let keel = forget_topics(&rig).await;
        rig.while_time_passes(is_registered(&keel)).await;
        office.close().await;
    };
    in_time(story).await;
}

// shows: hazard A4
#[tokio::test]
async fn sender_registers_its_topic_again_after_a_flush() {
    let story = async {
        let rig = Rig::redis().await;
        let mail = rig.mail().await;
        let keel = forget_topics(&rig).await;
        rig.advance(Duration::from_secs(31)).await;
        mail.now(&"a".to_owned()).await.unwrap();
        is_registered(&keel).await;
    };
    in_time(story).await;
}

/// After a flush a queue with a limit accepted every job.
// shows: hazard A4
#[tokio::test]
async fn limits_are_set_again_after_a_flush() {
    let story = async {
        let rig = Rig::redis().await;
        let mail = rig.mail_with(|builder| builder.jobs_max(1)).await;
        let keel = forget_topics(&rig).await;
        let (steps, shard) = mail.steps(&JobId([0; 16]));
        let settings = format!("{}:meta", shard.tag());
        keel.link().unwrap().command(settings.as_bytes(), redis::cmd("DEL").arg(&settings)).await.unwrap();
        rig.advance(Duration::from_secs(31)).await;
        mail.now(&"a".to_owned()).await.unwrap();
        is_registered(&keel).await;
        // The register comes first, the limits follow at once.
        let mut known = redis::cmd("HEXISTS");
        known.arg(&settings).arg("jobs_max");
        while keel.link().unwrap().command(settings.as_bytes(), &known).await.unwrap() != redis::Value::Int(1) {}
        assert!(matches!(mail.now(&"b".to_owned()).await, Err(QueueError::Full { .. })));
        assert_eq!(steps.run(&shard, &ReadStats).await.unwrap().waiting(), 1);
    };
    in_time(story).await;
}

/// Removes every key of the store but the test's time.
async fn flush(rig: &Rig) {
    let keel = rig.process().await;
    let link = keel.link().unwrap();
    // With the keys of shards, which begin with a brace.
    let (all, time) = (format!("*{}:*", rig.prefix()), format!("{}:test:now_ms", rig.prefix()));
    let found = link.command(b"", redis::cmd("KEYS").arg(all)).await.unwrap();
    // Keys of jobs have ids of any bytes.
    let keys: Vec<Vec<u8>> = redis::from_redis_value(found).unwrap();
    for key in keys.iter().filter(|key| **key != time.as_bytes()) {
        link.command(key, redis::cmd("DEL").arg(key)).await.unwrap();
    }
}

/// A field of a hash of the store, or nothing.
async fn field(keel: &Keel, key: &str, field: &str) -> Option<String> {
    let held = keel.link().unwrap().command(key.as_bytes(), redis::cmd("HGET").arg(key).arg(field)).await.unwrap();
    redis::from_redis_value(held).unwrap()
}

/// Waits until the first shard rejects the jobs of other shards.
async fn is_closed(keel: &Keel, mail: &Mail, shards: &str) {
    let settings = format!("{}:meta", mail.steps(&JobId([0; 16])).1.tag());
    while field(keel, &settings, "shards").await.as_deref() != Some(shards) {}
}

/// Sends eight jobs, which belong to several of four shards.
async fn send_eight(mail: &Mail) -> Vec<JobId> {
    let mut sent = Vec::new();
    for number in 0..8 {
        let body = format!("job {number}");
        sent.push(mail.job(&body).id(&body).enqueue().await.unwrap().id);
    }
    sent
}

/// After a flush programs that were started later opened the first shard alone: jobs that others sent to the rest never ran there.
// shows: Q9, hazard A4a
#[tokio::test]
async fn grown_topic_keeps_its_shards_after_a_flush() {
    let story = async {
        let rig = Rig::redis().await;
        let unaware = rig.mail_with(|builder| builder.shards(1)).await;
        let sender = rig.mail().await;
        sender.topic().grow(4).await.unwrap();
        flush(&rig).await;
        rig.advance(Duration::from_secs(31)).await;
        sender.now(&"wakes the check of the register".to_owned()).await.unwrap();
        let keel = rig.process().await;
        is_closed(&keel, &sender, "4").await;

        let later = rig.mail().await;
        assert_eq!(later.topic().stats().await.unwrap().shards.len(), 4);
        let sent = send_eight(&unaware).await;
        for id in &sent {
            assert!(state(&later, id).await.is_some(), "it is in the shard in which others look for it");
        }
        let desk = Desk::new();
        let office = open(desk.consumer(&later));
        for _ in 0..=sent.len() {
            rig.while_time_passes(desk.done()).await;
        }
        office.close().await;
    };
    in_time(story).await;
}

/// The growth ended with an entry that the register no longer had, and with shards that accepted each other's jobs.
// shows: Q9, hazard A4a, queue::Topic::grow, queue::Topic::grow_with
#[tokio::test]
async fn growth_interrupted_by_a_flush_completes() {
    let story = async {
        let rig = Rig::redis().await;
        let mail = rig.mail_with(|builder| builder.shards(1)).await;
        let desk = Desk::new();
        let office = open(desk.consumer(&mail).concurrency(8));
        send_eight(&mail).await;
        let mut running = Vec::new();
        for _ in 0..8 {
            running.push(desk.next().await);
        }
        let keel = rig.process().await;
        let topic = keel.topic("mail").await.unwrap();
        // It waits for the running jobs.
        let growing = tokio::spawn(async move { topic.grow(4).await });
        is_closed(&keel, &mail, "4").await;
        flush(&rig).await;
        running.into_iter().for_each(|case| case.answer(Ok(Handled::Done)));
        assert_eq!(rig.while_time_passes(growing).await.unwrap().unwrap().shards, 4);

        let register = format!("{}:q:grown", rig.prefix());
        assert_eq!(field(&keel, &register, "mail").await.as_deref(), Some("1,4"));
        is_closed(&keel, &mail, "4").await;
        let later = rig.mail().await;
        let sent = send_eight(&mail).await;
        for id in &sent {
            assert!(state(&later, id).await.is_some(), "its handler waits");
        }
        for _ in &sent {
            rig.while_time_passes(desk.done()).await;
        }
        office.close().await;
    };
    in_time(story).await;
}
