//! Another program has put a value of another type under the key of an entry.

use crate::cache::reads::db::Db;
use crate::cache::reads::rig::{Rig, find, get, in_time, row, some};
use evenkeel::cache::{Invalidated, Tier};

const TYPES: [(&str, &[&str]); 5] = [
    ("HSET", &["field", "value"]),
    ("LPUSH", &["value"]),
    ("XADD", &["*", "field", "value"]),
    ("SADD", &["value"]),
    ("ZADD", &["1", "value"]),
];

// shows: hazard A32
#[tokio::test]
async fn read_replaces_a_foreign_type() {
    in_time(async {
        let (rig, db) = (Rig::redis().await, Db::with("a"));
        let (plain, near) = (rig.rows().await, rig.rows_with(|builder| builder.near(100)).await);
        for (command, arguments) in TYPES {
            for rows in [&plain, &near] {
                rig.trespass(1, command, arguments).await;
                assert_eq!(find(rows, &db).await.unwrap().tier, Tier::Loader, "{command}");
                assert_ne!(find(rows, &db).await.unwrap().tier, Tier::Loader, "{command}");
            }
        }
    })
    .await;
}

// shows: hazard A32
#[tokio::test]
async fn batch_replaces_a_foreign_type() {
    in_time(async {
        let (rig, db) = (Rig::redis().await, Db::with("a"));
        let rows = rig.rows().await;
        for (command, arguments) in TYPES {
            rig.trespass(1, command, arguments).await;
            rows.get_many(&[1, 2], |missing| db.find_many(missing)).await.unwrap();
            assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store, "{command}");
        }
    })
    .await;
}

// shows: hazard A32
#[tokio::test]
async fn invalidation_deletes_a_foreign_type() {
    in_time(async {
        let (rig, db) = (Rig::redis().await, Db::with("a"));
        let rows = rig.rows().await;
        for (command, arguments) in TYPES {
            rig.trespass(1, command, arguments).await;
            assert_eq!(rows.invalidate(&1).await.unwrap(), Invalidated::Done, "{command}");
            rig.trespass(1, command, arguments).await;
            assert_eq!(rows.purge(&1).await.unwrap(), Invalidated::Done, "{command}");
        }
        get(&rows, &db).await;
        assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store);
    })
    .await;
}

// shows: hazard A32
#[tokio::test]
async fn write_replaces_a_foreign_type() {
    in_time(async {
        let (rig, db) = (Rig::redis().await, Db::with("a"));
        let rows = rig.rows().await;
        for (command, arguments) in TYPES {
            rig.trespass(1, command, arguments).await;
            let write = || async {
                db.write(1, command);
                Ok::<_, std::convert::Infallible>(())
            };
            rows.write(&1, write).await.unwrap();
            assert_eq!(get(&rows, &db).await, some(command));
        }
    })
    .await;
}

/// It is stored during a load or a write.
// shows: hazard A32
#[tokio::test]
async fn foreign_type_during_load_or_write_fails_only_the_fill() {
    in_time(async {
        let (rig, db) = (Rig::redis().await, Db::with("a"));
        let rows = rig.rows().await;
        for (command, arguments) in TYPES {
            rows.invalidate(&1).await.unwrap();
            let (mut load, reader) = (db.hold(), crate::cache::reads::rig::reader(&rows, &db));
            load.reached().await;
            rig.trespass(1, command, arguments).await;
            load.release();
            assert_eq!(row(reader).await, some("a"), "{command}");
            let write = || async {
                rig.trespass(1, command, arguments).await;
                Ok::<_, std::convert::Infallible>(())
            };
            rows.write(&1, write).await.unwrap();
            get(&rows, &db).await;
            assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Store, "{command}");
        }
    })
    .await;
}
