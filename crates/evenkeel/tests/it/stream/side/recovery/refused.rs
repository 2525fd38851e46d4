//! Redis refuses one partition of a stream that is registered in a database.

use super::shop::{consumer, flush, process, until, values};
use crate::log::Log;
use crate::sql::databases::{TestDatabase, Tested};
use crate::stream::side::rig::{Desk, Rig, all_settled, append, open};
use evenkeel_protocol::stream::name::partition_of;

on_redis_and_each_database! {
    recovery_with_a_sick_partition_opens_the_others
    group_that_cannot_be_created_begins_no_incarnation
}

/// Two keys, of the first and of the second partition.
const KEYS: [&str; 2] = ["a", "b"];

/// No partition behind it was created again, and each attempt sent the entries of units of work once more.
// shows: hazard SF14
async fn recovery_with_a_sick_partition_opens_the_others<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    assert_eq!(KEYS.map(|key| partition_of(key.as_bytes(), 2)), [0, 1]);
    let (_keel, orders) = process(&rig, &database).await;
    flush(&rig).await;
    let tag = orders.steps().1[0].tag().to_owned();
    let key = format!("{tag}:log");
    rig.command(key.as_bytes(), redis::cmd("SET").arg(&key).arg("another program's")).await;
    append(&orders, KEYS[1], &["1", "2"]).await;
    let refused = orders.append(KEYS[0], &"3".to_owned()).await.unwrap_err().to_string();
    assert!(refused.contains("WRONGTYPE") && refused.contains(&tag), "{refused}");
    assert_eq!(orders.admin().losses(10).await.unwrap().len(), 1);
    rig.command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await;
    append(&orders, KEYS[0], &["3"]).await;
    assert_eq!(values(&orders).await, ["3", "1", "2"]);
}

/// Each attempt of its consumer began another incarnation, which sends the kept entries of all partitions again.
// shows: hazard SF15
async fn group_that_cannot_be_created_begins_no_incarnation<DB: Tested>(rig: Rig, database: TestDatabase<DB>) {
    let (_keel, orders) = process(&rig, &database).await;
    let desk = Desk::new();
    let office = open(consumer(&desk, &orders, "billing"));
    append(&orders, KEYS[0], &["1"]).await;
    assert_eq!(desk.done().await, "1");
    all_settled(&orders).await;
    let log = Log::begin();
    let key = format!("{}:g:billing", orders.steps().1[0].tag());
    rig.command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await;
    append(&orders, KEYS[0], &["2"]).await;
    until(&rig, || async { !log.lacks("XGROUP DESTROY") }).await;
    append(&orders, KEYS[1], &["3"]).await;
    assert_eq!(rig.while_time_passes(desk.done()).await, "3");
    assert_eq!(orders.admin().losses(10).await.unwrap(), []);
    office.kill().await;
}
