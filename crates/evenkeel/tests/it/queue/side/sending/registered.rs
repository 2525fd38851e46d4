//! Topics in the register, also after a flush.

use crate::queue::side::desk::{Desk, open};
use crate::queue::side::rig::{Rig, in_time};
use evenkeel::Keel;
use evenkeel::queue::{JobId, QueueError};
use std::time::Duration;

/// Removes the topics from the register, as a flush does.
async fn forget_topics(rig: &Rig) -> Keel {
    let keel = rig.process().await;
    let key = format!("{}:q:topics", rig.prefix());
    keel.link().unwrap().command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await.unwrap();
    assert!(keel.topics().await.unwrap().is_empty());
    keel
}

async fn is_registered(keel: &Keel) {
    while keel.topics().await.unwrap().iter().all(|topic| topic.name() != "mail") {
        tokio::task::yield_now().await;
    }
}

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
        assert_eq!(steps.stats(&shard).await.unwrap().waiting(), 1);
    };
    in_time(story).await;
}
