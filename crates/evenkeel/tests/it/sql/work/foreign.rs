//! Another program has stored a value of another type under the key of an entry that a unit of work invalidates.

use crate::sql::rig::{Rig, Sql, in_time};
use evenkeel::Keel;
use sqlx::Sqlite;
use testkit::park::redis;

/// With and without the cache open in the process that carries the invalidation out.
// shows: hazard A32
#[tokio::test]
async fn work_invalidates_a_foreign_type() {
    in_time(async {
        let server = redis().await.unwrap();
        let keel = Keel::connect(&format!("{}?prefix={}", server.url, server.prefix)).await.unwrap();
        let rig = Rig::<Sqlite>::with(keel).await;
        let key = format!("{}:c:stock:{{1}}", server.prefix);
        let link = rig.keel.link().unwrap();
        let types = [("HSET", &["field", "value"][..]), ("LPUSH", &["value"]), ("XADD", &["*", "field", "value"])];
        for (sold, (command, arguments)) in types.into_iter().enumerate() {
            rig.cached_units().await;
            link.command(b"", redis::cmd("DEL").arg(&key)).await.unwrap();
            link.command(b"", redis::cmd(command).arg(&key).arg(arguments)).await.unwrap();
            let mut work = rig.keel.begin(&rig.pool).await.unwrap();
            Sqlite::run(work.tx(), "UPDATE stock SET units = units - 1 WHERE id = 1").await.unwrap();
            work.invalidate(&rig.stock, &1).unwrap();
            assert!(work.commit().await.unwrap().carried_out, "{command}");
            assert_eq!(rig.cached_units().await, 9 - i64::try_from(sold).unwrap(), "{command}");
        }
        rig.keel.until_marked(&rig.pool).await;
        assert_eq!(rig.outbox_rows(2).await, 3, "all are done, and none is parked");
    })
    .await;
}
