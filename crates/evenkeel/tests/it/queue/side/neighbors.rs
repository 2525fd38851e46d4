//! Another program uses the keys of a queue.

use super::desk::{Desk, open};
use super::rig::{Mail, Rig, in_time};
use crate::log::Log;
use evenkeel::queue::JobId;
use std::time::Duration;

/// Programs that run go on; opening another queue, or listing them, says what Redis refuses.
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
        log.each_says("WARN the register of topics could not be read", &["WRONGTYPE"]);
        let refused = keel.queue::<String>("other").open().await.err().unwrap();
        assert!(refused.to_string().contains("WRONGTYPE"), "{refused}");
        assert!(keel.topics().await.is_err());
        office.close().await;
    })
    .await;
}

/// The calls of the shard were refused and repeated, and only a metric showed it.
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
