//! Another program uses the keys of a queue.

use super::desk::{Desk, open};
use super::rig::{Mail, Rig, in_time};
use crate::log::Log;
use evenkeel::queue::JobId;
use evenkeel::queue::topic::Topic;
use std::time::Duration;

/// Programs that run go on; opening another queue, or listing them, says what Redis refuses.
// shows: hazard A8
#[tokio::test]
async fn foreign_type_in_place_of_the_register_stops_no_running_program() {
    in_time(async {
        let rig = Rig::redis().await;
        let keel = rig.process().await;
        let link = keel.link().unwrap();
        let mail: Mail = keel.queue("mail").open().await.unwrap();
        let desk = Desk::new();
        let office = open(desk.consumer(&mail));
        let register = format!("{}:q:topics", rig.prefix());
        let log = Log::begin();
        link.command(register.as_bytes(), redis::cmd("DEL").arg(&register)).await.unwrap();
        link.command(register.as_bytes(), redis::cmd("SET").arg(&register).arg("another program's")).await.unwrap();
        // Each time programs would register their topics again.
        for body in ["first", "second", "third"] {
            rig.advance(Duration::from_secs(31)).await;
            mail.now(&body.to_owned()).await.unwrap();
            assert_eq!(rig.while_time_passes(desk.done()).await, body);
        }
        log.each_says("WARN the register of topics could not be read", &[register.as_str()]);
        let refused = keel.queue::<String>("other").open().await.err().unwrap();
        assert!(refused.to_string().contains("WRONGTYPE"), "{refused}");
        assert!(keel.topics().await.is_err());
        office.close().await;
    })
    .await;
}

/// The calls of the shard were refused and repeated, and only a metric showed it.
// shows: hazard A8
#[tokio::test]
async fn foreign_type_under_a_queue_key_stops_only_its_shard() {
    in_time(async {
        let rig = Rig::redis().await;
        let keel = rig.process().await;
        let link = keel.link().unwrap();
        let mail: Mail = keel.queue("mail").open().await.unwrap();
        let parcels: Mail = keel.queue("parcels").open().await.unwrap();
        mail.now(&"letter".to_owned()).await.unwrap();
        let answers = format!("{}:answers", mail.steps(&JobId([0; 16])).1.tag());
        link.command(answers.as_bytes(), redis::cmd("SET").arg(&answers).arg("another program's")).await.unwrap();

        let log = Log::begin();
        let (desk, elsewhere) = (Desk::new(), Desk::new());
        let (office, branch) = (open(desk.consumer(&mail)), open(elsewhere.consumer(&parcels)));
        parcels.now(&"parcel".to_owned()).await.unwrap();
        assert_eq!(elsewhere.done().await, "parcel");
        while log.lacks("Redis refuses the calls of this consumer") {
            tokio::task::yield_now().await;
        }
        link.command(answers.as_bytes(), redis::cmd("DEL").arg(&answers)).await.unwrap();
        assert_eq!(rig.while_time_passes(desk.done()).await, "letter");
        office.close().await;
        branch.close().await;
        log.says(&["Redis refuses the calls of this consumer"]);
    })
    .await;
}

/// The pause stopped at the first shard that Redis refused: an operator could not pause the shards behind it.
// shows: hazard SF12
#[tokio::test]
async fn topic_with_a_sick_shard_is_paused_in_the_others() {
    in_time(async {
        let rig = Rig::redis().await;
        let keel = rig.process().await;
        let mail: Mail = keel.queue("mail").shards(2).open().await.unwrap();
        let topic = keel.topic("mail").await.unwrap();
        let meta = format!("{}:meta", mail.steps(&JobId([0; 16])).1.tag());
        let command = async |cmd: &redis::Cmd| rig.command(meta.as_bytes(), cmd).await;
        for is_paused in [true, false] {
            command(redis::cmd("DEL").arg(&meta)).await;
            command(redis::cmd("SET").arg(&meta).arg("another program's")).await;
            let refused = if is_paused { topic.pause(None).await } else { topic.resume().await };
            assert!(refused.unwrap_err().to_string().contains("WRONGTYPE"));
            command(redis::cmd("DEL").arg(&meta)).await;
            let shards = topic.stats().await.unwrap().shards;
            assert_eq!(shards.iter().map(|shard| shard.paused_until.is_some()).collect::<Vec<_>>(), [false, is_paused]);
        }
    })
    .await;
}

/// The key of a register, which another program has overwritten.
async fn occupied(rig: &Rig, register: &str) -> String {
    let key = format!("{}:{register}", rig.prefix());
    rig.command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await;
    rig.command(key.as_bytes(), redis::cmd("SET").arg(&key).arg("another program's")).await;
    key
}

/// A consumer that could not read one register did not read the other one either: it never saw the growth of its topic, and jobs of the new
/// shards did not run there.
// shows: hazard A8c
#[tokio::test]
async fn consumer_follows_growth_without_the_register_of_topics() {
    in_time(async {
        let rig = Rig::redis().await;
        let mail = rig.mail_with(|builder| builder.shards(1)).await;
        let desk = Desk::new();
        let office = open(desk.consumer(&rig.mail_with(|builder| builder.shards(1)).await));
        occupied(&rig, "q:topics").await;
        rig.while_time_passes(mail.topic().grow(4)).await.unwrap();
        let letters: Vec<String> = (0..12).map(|number| format!("letter {number:02}")).collect();
        mail.enqueue_all(letters.iter().map(|letter| mail.job(letter))).await.unwrap();
        let mut done = Vec::new();
        while done.len() < letters.len() {
            done.push(rig.while_time_passes(desk.done()).await);
        }
        done.sort();
        assert_eq!(done, letters);
        office.close().await;
    })
    .await;
}

/// Programs that run go on with the shards that they know; growing a topic, or opening one, says what Redis refuses.
// shows: hazard A8c
#[tokio::test]
async fn foreign_type_in_place_of_the_register_of_growth_stops_no_running_program() {
    in_time(async {
        let rig = Rig::redis().await;
        let mail = rig.mail_with(|builder| builder.shards(2)).await;
        let desk = Desk::new();
        let office = open(desk.consumer(&mail));
        let log = Log::begin();
        let key = occupied(&rig, "q:grown").await;
        for body in ["first", "second", "third"] {
            rig.advance(Duration::from_secs(31)).await;
            mail.now(&body.to_owned()).await.unwrap();
            assert_eq!(rig.while_time_passes(desk.done()).await, body);
        }
        log.each_says("WARN the register of grown topics could not be read", &[key.as_str()]);
        let grown = mail.topic().grow(4).await.unwrap_err().to_string();
        let opened = rig.process().await.queue::<String>("other").open().await.err().unwrap().to_string();
        for refused in [grown, opened] {
            assert!(refused.contains("WRONGTYPE") && refused.contains(&key), "{refused}");
        }
        rig.command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await;
        assert_eq!(rig.while_time_passes(mail.topic().grow(4)).await.unwrap().shards, 4);
        office.close().await;
    })
    .await;
}

/// The schedule was tried again and again, with a warning each time, and enqueued nothing.
// shows: hazard A8c
#[tokio::test]
async fn foreign_type_in_place_of_the_register_of_schedules_stops_no_schedule() {
    in_time(async {
        let rig = Rig::redis().await;
        let mail = rig.mail().await;
        let desk = Desk::new();
        let office = open(desk.consumer(&mail));
        let log = Log::begin();
        let key = occupied(&rig, "q:schedules").await;
        let run = |name: &str| {
            let schedule = mail.periodic(name, "* * * * *".parse().unwrap(), |time| time.strftime("%H:%M").to_string());
            tokio::spawn(schedule.run(std::future::pending()))
        };
        let before = run("from the start");
        let mut ticks = Vec::new();
        for _ in 0..4 {
            ticks.push(rig.while_time_passes_by(Duration::from_secs(5), desk.done()).await);
        }
        ticks.dedup();
        assert_eq!(ticks.len(), 4, "each minute has its tick: {ticks:?}");
        log.each_says("the register of schedules could not be read", &[key.as_str()]);
        // Once the key is free, the definition is registered.
        rig.command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await;
        let held = redis::cmd("HEXISTS").arg(&key).arg("mail/from the start").clone();
        let registered = async { while rig.command(key.as_bytes(), &held).await != redis::Value::Int(1) {} };
        let others = async { while !desk.done().await.is_empty() {} };
        rig.while_time_passes_by(Duration::from_secs(5), async {
            tokio::select! {
                () = registered => {}
                () = others => {}
            }
        })
        .await;
        before.abort();
        office.close().await;
    })
    .await;
}

/// An entry of a newer program, or of another one, in the register hid all topics from operators and alerts.
// shows: hazard SF17
#[tokio::test]
async fn topic_that_cannot_be_read_hides_no_other() {
    in_time(async {
        let rig = Rig::redis().await;
        let keel = rig.process().await;
        let _mail: Mail = keel.queue("mail").open().await.unwrap();
        let link = keel.link().unwrap();
        let topics = format!("{}:q:topics", rig.prefix());
        let record = link.command(topics.as_bytes(), redis::cmd("HGET").arg(&topics).arg("mail")).await.unwrap();
        let record: Vec<u8> = redis::from_redis_value(record).unwrap();
        for (name, value) in [(&b"newer"[..], &b"{}"[..]), (b"\xff", &record), (b"grows", &record)] {
            link.command(topics.as_bytes(), redis::cmd("HSET").arg(&topics).arg(name).arg(value)).await.unwrap();
        }
        let grown = format!("{}:q:grown", rig.prefix());
        let numbers = redis::cmd("HSET").arg(&grown).arg("grows").arg("no numbers").take();
        link.command(grown.as_bytes(), &numbers).await.unwrap();
        let all = keel.topics().await.unwrap();
        assert_eq!(all.found.iter().map(Topic::name).collect::<Vec<_>>(), ["mail"]);
        let parts: Vec<&str> = all.rejected.iter().map(|rejection| rejection.part.as_str()).collect();
        assert_eq!(parts, ["newer", "\u{fffd}", "grows"]);
        assert!(all.rejected[0].error.to_string().contains("written by a newer program"), "{:?}", all.rejected);
    })
    .await;
}
