//! Another program uses the keys of a queue.

use super::desk::{Desk, open};
use super::rig::{Mail, Rig, in_time};
use crate::log::Log;
use evenkeel::queue::JobId;

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
