//! Redis rejects the calls of one shard, because another program uses one of its keys: those of the other shards go on, also while the
//! topic grows.

use super::desk::{Desk, open};
use super::rig::{Mail, Rig, in_time, state};
use evenkeel::Keel;
use evenkeel::queue::topic::Topic;
use evenkeel::queue::{JobId, Priority, QueueError};
use evenkeel_protocol::queue::grow::{Close, Item, SendItems, SendOutcome};
use evenkeel_protocol::queue::job::End;
use evenkeel_protocol::queue::steps::{Found, Shard, State};
use redis::Value;
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};

const WAITING: Option<State> = Some(State::Waiting(Priority::Normal));
const HOUR: Duration = Duration::from_secs(3_600);

/// The key of a shard that every call reads.
fn meta(shard: &Shard) -> String {
    format!("{}:meta", shard.tag())
}

/// Another program puts a value of another type under a key of the shard.
async fn occupy(rig: &Rig, shard: &Shard) {
    let (key, aside) = (meta(shard), format!("{}:aside", meta(shard)));
    rig.command(key.as_bytes(), redis::cmd("RENAME").arg(&key).arg(&aside)).await;
    rig.command(key.as_bytes(), redis::cmd("SET").arg(&key).arg("another program's")).await;
}

/// It has removed its value.
async fn free(rig: &Rig, shard: &Shard) {
    let (key, aside) = (meta(shard), format!("{}:aside", meta(shard)));
    rig.command(key.as_bytes(), redis::cmd("RENAME").arg(&aside).arg(&key)).await;
}

fn is_rejected<T: std::fmt::Debug>(answer: &Result<T, QueueError>) -> bool {
    answer.as_ref().is_err_and(|error| error.to_string().contains("WRONGTYPE"))
}

async fn is_revoked(topic: &Topic, id: JobId) -> bool {
    matches!(topic.job(id).await.unwrap(), Some(Found::Ended(completion)) if completion.end == End::Revoked)
}

/// A topic that grows from two shards to four. Each old shard has sent a job to a new one, and its process was killed then.
struct Growth {
    rig: Rig,
    mail: Mail,
    topic: Topic,
    shards: Vec<Shard>,
    /// The jobs on their way from the first shard to the third, and from the second one to the fourth.
    sent: [JobId; 2],
}

impl Growth {
    async fn begun() -> Self {
        let rig = Rig::redis().await;
        let old = rig.mail_with(|builder| builder.shards(2)).await;
        let sent = [2, 3].map(|shard| {
            (0_u32..).map(|number| JobId::named(&number.to_be_bytes())).find(|id| id.shard(4) == shard).unwrap()
        });
        for (id, body) in sent.into_iter().zip(["first", "second"]) {
            old.job(&body.to_owned()).raw_id(id).delay(Duration::from_secs(20)).enqueue().await.unwrap();
        }
        let shards: Vec<Shard> = (0..4).map(|number| Shard::new(rig.prefix(), "mail", number)).collect();
        // The topology is stored, and nothing else.
        occupy(&rig, &shards[0]).await;
        let begun = old.topic().grow(4).await;
        assert!(is_rejected(&begun), "{begun:?}");
        free(&rig, &shards[0]).await;
        let (steps, _) = old.steps(&sent[0]);
        for (from, to, id) in [(0, 2, sent[0]), (1, 3, sent[1])] {
            let close = Close { shards: 4, before: 2, inherits: None };
            let inherits = Some(steps.run(&shards[from], &close).await.unwrap());
            steps.run(&shards[to], &Close { inherits, ..close }).await.unwrap();
            let sent = steps.run(&shards[from], &SendItems(vec![Item::Job(id)])).await.unwrap();
            assert_eq!(sent, [SendOutcome::Sent]);
        }
        let mail = rig.mail().await;
        let topic = rig.process().await.topic("mail").await.unwrap();
        Self { rig, mail, topic, shards, sent }
    }
}

/// The call ended with the rejection, and nothing was asked of the new shards.
// shows: hazard SF18
#[tokio::test]
async fn revocation_during_growth_passes_a_sick_old_shard() {
    in_time(async {
        let Growth { rig, mail, topic, shards, sent } = Growth::begun().await;
        occupy(&rig, &shards[0]).await;
        let refused = topic.revoke(&sent).await;
        assert!(is_rejected(&refused), "{refused:?}");
        free(&rig, &shards[0]).await;
        assert!(is_revoked(&topic, sent[1]).await);
        assert_eq!(state(&mail, &sent[0]).await, WAITING);
    })
    .await;
}

/// The batches behind the first one that could not be delivered stayed where they were, and their jobs were in no shard.
// shows: hazard SF18
#[tokio::test]
async fn revocation_during_growth_passes_a_sick_new_shard() {
    in_time(async {
        let Growth { rig, mail, topic, shards, sent } = Growth::begun().await;
        occupy(&rig, &shards[2]).await;
        let refused = topic.revoke(&sent).await;
        assert!(is_rejected(&refused), "{refused:?}");
        let unknown = topic.job(sent[0]).await;
        assert!(is_rejected(&unknown), "a job on its way to a sick shard is not said to be unknown: {unknown:?}");
        assert!(is_revoked(&topic, sent[1]).await);
        free(&rig, &shards[2]).await;
        assert_eq!(state(&mail, &sent[0]).await, WAITING);
    })
    .await;
}

/// A consumer delivered no batch behind one that Redis rejected, and its jobs were due in no shard.
// shows: hazard SF18, hazard SF21
#[tokio::test]
async fn consumer_delivers_batches_behind_a_sick_shard() {
    in_time(async {
        let Growth { rig, mail, shards, .. } = Growth::begun().await;
        occupy(&rig, &shards[0]).await;
        let desk = Desk::new();
        let office = open(desk.consumer(&mail));
        assert_eq!(rig.while_time_passes(desk.done()).await, "second");
        free(&rig, &shards[0]).await;
        assert_eq!(rig.while_time_passes(desk.done()).await, "first");
        office.close().await;
    })
    .await;
}

/// The shards behind the first one that Redis rejected stayed open, for ever: programs that did not know of the growth put jobs there that
/// no other program found. So did the rejected one.
// shows: hazard SF19
#[tokio::test]
async fn shards_are_closed_again_after_a_flush_but_for_a_sick_one() {
    in_time(async {
        let rig = Rig::redis().await;
        let mail = rig.mail_with(|builder| builder.shards(2)).await;
        let topic = mail.topic();
        rig.while_time_passes(topic.grow(4)).await.unwrap();
        let shards: Vec<Shard> = (0..4).map(|number| Shard::new(rig.prefix(), "mail", number)).collect();
        // What a flush removes.
        let register = format!("{}:q:grown", rig.prefix());
        for key in shards.iter().map(meta).chain([register]) {
            assert_eq!(rig.command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await, Value::Int(1), "{key}");
        }
        let sick = meta(&shards[0]);
        rig.command(sick.as_bytes(), redis::cmd("SET").arg(&sick).arg("another program's")).await;
        let refused = topic.stats().await;
        assert!(is_rejected(&refused), "{refused:?}");
        let count = async |shard: &Shard| {
            let key = meta(shard);
            rig.command(key.as_bytes(), redis::cmd("HGET").arg(&key).arg("shards")).await
        };
        for shard in &shards[1..] {
            assert_eq!(count(shard).await, Value::BulkString(b"4".to_vec()), "{shard:?}");
        }
        rig.command(sick.as_bytes(), redis::cmd("DEL").arg(&sick)).await;
        topic.stats().await.unwrap();
        assert_eq!(count(&shards[0]).await, Value::BulkString(b"4".to_vec()), "the next look closes it");
    })
    .await;
}

/// A call has at most 500 items. Redis permits no key of one job of the first call.
// shows: hazard SF16
#[tokio::test]
async fn portion_that_is_rejected_stops_no_other_of_its_shard() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let keel = Keel::connect(&redis.url()).await.unwrap();
    let mail: Mail = keel.queue("mail").shards(1).open().await.unwrap();
    let ids: Vec<JobId> = (0_u16..=500)
        .map(|number| {
            let [high, low] = number.to_be_bytes();
            let mut id = [0; 16];
            (id[0], id[1], id[15]) = (high, low, if number == 0 { b'Z' } else { b'a' });
            JobId(id)
        })
        .collect();
    let body = "letter".to_owned();
    mail.enqueue_all(ids.iter().map(|id| mail.job(&body).raw_id(*id).delay(HOUR))).await.unwrap();
    redis.command::<()>(&["ACL", "SETUSER", "default", "resetkeys", "~*[^Z]"]).await.unwrap();
    let refused = mail.topic().revoke(&ids).await.unwrap_err();
    // In a script the server's text begins with another code.
    assert!(refused.to_string().contains("access"), "{refused}");
    assert!(is_revoked(&mail.topic(), ids[500]).await);
    assert!(mail.find(&ids[0]).await.is_err(), "it is not said to be unknown");
}
