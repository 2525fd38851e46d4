//! What another program leaves under the keys of a scope: worker ids are refused, with the reason, and nothing is overwritten.

use super::{builder, narrow};
use crate::in_time;
use crate::rig::Fleet;
use evenkeel::id::IdError;
use evenkeel::link::LinkError;
use redis::cmd;

// shows: id::SnowflakeBuilder::build
#[tokio::test]
async fn foreign_values_are_refused_and_kept() {
    in_time(async {
        let fleet = Fleet::redis().await;
        let keel = fleet.process().await;
        for ending in ["workers", "workers:leases"] {
            let key = format!("{{{}:i:orders}}:{ending}", fleet.prefix());
            let foreign = cmd("SET").arg(&key).arg("another program's").clone();
            fleet.command(key.as_bytes(), &foreign).await;
            let error = builder(&keel, narrow(2)).build().await.unwrap_err();
            assert!(matches!(&error, IdError::Link(LinkError::Refused { .. })), "{error}");
            let kept = fleet.command(key.as_bytes(), cmd("GET").arg(&key)).await;
            assert_eq!(kept, redis::Value::BulkString("another program's".into()));
            fleet.command(key.as_bytes(), cmd("DEL").arg(&key)).await;
            let ids = builder(&keel, narrow(2)).build().await.unwrap();
            ids.release().await.unwrap();
        }
        let key = format!("{{{}:i:orders}}:workers", fleet.prefix());
        let row = cmd("HSET").arg(&key).arg("w0").arg("another program's").clone();
        fleet.command(key.as_bytes(), &row).await;
        let error = builder(&keel, narrow(2)).build().await.unwrap_err();
        assert!(error.to_string().contains("another program has changed a row"), "{error}");
    })
    .await;
}
