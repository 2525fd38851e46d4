//! Another program uses the keys of a stream.

use super::rig::{Desk, Rig, append, in_time, open};
use crate::log::Log;
use evenkeel::stream::EntryId;
use std::time::Duration;

/// The key, where another program has put its own value now.
async fn occupied(rig: &Rig, name: &str) -> String {
    let key = format!("{}:{name}", rig.prefix());
    rig.command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await;
    rig.command(key.as_bytes(), redis::cmd("SET").arg(&key).arg("another program's")).await;
    key
}

/// Nothing was trimmed any more, and only a metric showed it: the stream filled Redis.
#[tokio::test]
async fn foreign_type_in_place_of_the_register_of_groups_is_logged_once() {
    in_time(async {
        let rig = Rig::redis().await;
        let orders = rig.orders_with(|builder| builder.retention(Duration::ZERO)).await;
        let desk = Desk::new();
        let office = open(desk.consumer(orders.group("billing").unordered()));
        append(&orders, "a", &["before"]).await;
        assert_eq!(desk.done().await, "before");
        let log = Log::begin();
        let key = occupied(&rig, "s:groups").await;
        for value in ["first", "second", "third"] {
            rig.advance(Duration::from_secs(3_600)).await;
            append(&orders, "a", &[value]).await;
            // The hour may end the lease of the entry before, which is delivered again then.
            while rig.while_time_passes(desk.done()).await != value {}
        }
        rig.while_time_passes(async {
            while log.lacks("Redis refuses a call of this consumer") {
                tokio::task::yield_now().await;
            }
        })
        .await;
        log.each_says("Redis refuses a call of this consumer", &[key.as_str()]);
        let refused = orders.admin().groups().await.unwrap_err().to_string();
        assert!(refused.contains("WRONGTYPE") && refused.contains(&key), "{refused}");
        // Once the key is free, the group of the running consumer is registered again, and entries are trimmed.
        rig.command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await;
        office.close().await;
        let office = open(desk.consumer(orders.group("billing").unordered()));
        let admin = orders.admin();
        let trimmed = async {
            while !admin.peek(0, EntryId::MIN, 10).await.unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        rig.while_time_passes_by(Duration::from_secs(5), trimmed).await;
        office.close().await;
    })
    .await;
}
