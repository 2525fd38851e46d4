//! What a change does, and when.

use crate::rig::{Calls, Rig, change, in_time, updated, user};
use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel::cdc::CdcError;
use evenkeel::cdc::source::{Kind, Row, Value};
use evenkeel::link::LinkOptions;
use evenkeel::spool::{PendingEffect, SpoolOptions};
use evenkeel::testing::TestClock;
use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;
use testkit::park;
use testkit::proxy::Proxy;

async fn users(rig: &Rig) -> Cache<i64, String> {
    rig.keel.cache("user").ttl(Duration::from_secs(600)).open().await.unwrap()
}

/// What a reader gets if the row is `row` now.
async fn read(cache: &Cache<i64, String>, id: i64, row: &str) -> String {
    let row = Some(row.to_owned());
    cache.get(&id, |_| async move { Ok::<_, Infallible>(row) }).await.unwrap().unwrap().to_string()
}

/// The log has the commit, statements do not see it yet, and the entry is absent: an invalidation at this moment would leave no trace.
// shows: D1, hazard CD1, cdc::Capture
#[tokio::test]
async fn change_is_applied_when_it_is_visible() {
    in_time(async {
        let rig = Rig::begun().await;
        let users = users(&rig).await;
        rig.log.show_up_to(0);
        rig.log.commit([updated(1)]);
        let story = async {
            rig.log.until_asked(1).await;
            assert_eq!(read(&users, 1, "old").await, "old", "a reader fills the row from before");
            rig.log.show_up_to(1);
            rig.log.until_confirmed(1).await;
        };
        rig.capture(&rig.log, |rule| rule.cache(&users).key("id")).run(story).await.unwrap();
        assert_eq!(read(&users, 1, "new").await, "new");
    })
    .await;
}

// shows: D1, hazard CD2
#[tokio::test]
async fn changed_key_invalidates_both_entries() {
    in_time(async {
        let rig = Rig::begun().await;
        let users = users(&rig).await;
        for id in 1..=4 {
            assert_eq!(read(&users, id, "old").await, "old");
        }
        let moved = change("users", Kind::Update, Some(user(1, "a@b")), Some(user(2, "a@b")));
        rig.log.commit([moved, change("users", Kind::Delete, Some(user(3, "c@d")), None)]);
        let capture = rig.capture(&rig.log, |rule| rule.cache(&users).key("id"));
        capture.run(rig.log.until_confirmed(1)).await.unwrap();
        let mut now = Vec::new();
        for id in 1..=4 {
            now.push(read(&users, id, "new").await);
        }
        assert_eq!(now, ["new", "new", "new", "old"]);
    })
    .await;
}

// shows: D6
#[tokio::test]
async fn row_of_another_table_has_no_effect() {
    in_time(async {
        let rig = Rig::begun().await;
        let calls = Calls::default();
        rig.log.commit([change("orders", Kind::Insert, None, Some(user(1, "a@b")))]);
        rig.log.commit([updated(2)]);
        rig.calls(&rig.log, &calls).run(rig.log.until_confirmed(2)).await.unwrap();
        assert_eq!(calls.ids(), [2]);
    })
    .await;
}

/// The log of a source that other tables fill is released.
// shows: D2
#[tokio::test]
async fn changes_without_effects_are_saved_once_a_minute() {
    in_time(async {
        let clock = TestClock::default();
        let rig = Rig::begun_with(Keel::builder().clock(clock.clock()).memory()).await;
        rig.log.commit([change("orders", Kind::Insert, None, Some(user(1, "a@b")))]);
        let capture = rig.calls(&rig.log, &Calls::default());
        let mut run = pin!(capture.run(rig.log.until_confirmed(1)));
        let mut seconds = 0;
        // The pause is real, so that the database has time to answer before the clock moves on.
        while tokio::time::timeout(Duration::from_millis(2), &mut run).await.is_err() {
            clock.advance(Duration::from_secs(1));
            seconds += 1;
        }
        assert!(seconds >= 60, "saved after {seconds} s");
        assert_eq!(rig.checkpoint().await, "1");
    })
    .await;
}

// shows: D1
#[tokio::test]
async fn change_waits_while_its_visibility_cannot_be_asked() {
    in_time(async {
        let rig = Rig::begun().await;
        let calls = Calls::default();
        rig.log.set_known(false);
        rig.log.commit([updated(1)]);
        let story = async {
            let waiting = loop {
                let status = rig.admin().status().await.unwrap().unwrap();
                if status.state == "waiting" {
                    break status;
                }
                tokio::task::yield_now().await;
            };
            assert_eq!(waiting.cause.as_deref(), Some("the primary is away"));
            assert_eq!(calls.ids(), [0_i64; 0]);
            rig.log.set_known(true);
            rig.log.until_confirmed(1).await;
        };
        rig.calls(&rig.log, &calls).run(story).await.unwrap();
        assert_eq!(calls.ids(), [1]);
        assert_eq!(rig.admin().status().await.unwrap().unwrap().state, "streaming");
    })
    .await;
}

/// The changes of the library's own tables include the checkpoint: a save for them would be the next change.
// shows: D2, hazard CD8
#[tokio::test]
async fn idle_and_own_changes_save_no_checkpoint() {
    in_time(async {
        let rig = Rig::begun().await;
        rig.log.commit([change("evenkeel_cdc_source", Kind::Update, Some(user(1, "")), Some(user(1, "")))]);
        rig.log.commit([]);
        rig.calls(&rig.log, &Calls::default()).run(rig.log.until_idle_at(2)).await.unwrap();
        assert_eq!((rig.checkpoint().await.as_str(), rig.log.confirmed()), ("0", vec![0]));
    })
    .await;
}

// shows: D3, hazard CD3, cdc::Capture::run
#[tokio::test]
async fn null_is_no_key_and_an_absent_column_is_an_error() {
    in_time(async {
        let rig = Rig::begun().await;
        let calls = Calls::default();
        let null: Row = [("id", Value::Null)].into_iter().collect();
        rig.log.commit([change("users", Kind::Insert, None, Some(null))]);
        rig.calls(&rig.log, &calls).run(rig.log.until_confirmed(1)).await.unwrap();
        assert_eq!(calls.ids(), [0_i64; 0]);

        let absent: Row = [("mail", Value::Null)].into_iter().collect();
        rig.log.commit([change("users", Kind::Insert, None, Some(absent))]);
        let error = rig.calls(&rig.log, &calls).run(std::future::pending()).await.unwrap_err();
        assert!(matches!(&error, CdcError::Unmapped { rule, .. } if **rule == *"calls"), "{error}");
        let status = rig.admin().status().await.unwrap().unwrap();
        assert_eq!((status.state.as_str(), status.position.as_deref()), ("refused", Some("1")));
        assert_eq!(status.cause, Some(error.to_string()));
    })
    .await;
}

// shows: D6, cdc::Capture
#[tokio::test]
async fn changes_of_a_key_are_in_order() {
    in_time(async {
        let rig = Rig::begun().await;
        let calls = Calls::default();
        for group in 0..20 {
            let mail = group.to_string();
            rig.log.commit((1..=5).map(|id| change("users", Kind::Insert, None, Some(user(id, &mail)))));
        }
        rig.calls(&rig.log, &calls).run(rig.log.until_confirmed(20)).await.unwrap();
        for id in 1..=5 {
            let rows = calls.all().into_iter().map(|changed| changed.after.unwrap());
            let rows: Vec<Row> = rows.filter(|row| row.get("id") == Some(&Value::Int(id))).collect();
            assert_eq!(rows, (0..20).map(|group| user(id, &group.to_string())).collect::<Vec<_>>());
        }
    })
    .await;
}

// shows: D6, hazard CD7, cdc::CaptureAdmin::parked, cdc::CaptureAdmin::release
#[tokio::test]
async fn failing_function_parks_its_key_alone() {
    in_time(async {
        let rig = Rig::begun().await;
        let calls = Calls::default();
        calls.fail_for(&[1]);
        rig.log.commit([updated(1), updated(2)]);
        rig.calls(&rig.log, &calls).run(rig.log.until_confirmed(1)).await.unwrap();
        let parked = rig.admin().parked(10).await.unwrap();
        assert_eq!(parked.len(), 1);
        assert_eq!((parked[0].rule.as_str(), parked[0].key.as_slice()), ("calls", &b"1"[..]));
        assert_eq!(parked[0].error, "told to fail");
        assert_eq!(calls.ids().iter().filter(|id| **id == 1).count(), 5);

        // Its later changes do not overtake the failed one, in this process and in the next one.
        calls.fail_for(&[]);
        rig.log.commit([updated(1), updated(2)]);
        rig.calls(&rig.log, &calls).run(rig.log.until_confirmed(2)).await.unwrap();
        assert_eq!(calls.ids().iter().filter(|id| **id == 2).count(), 2);
        assert_eq!(calls.ids().iter().filter(|id| **id == 1).count(), 5);

        assert!(rig.admin().release("calls", b"1").await.unwrap());
        assert!(!rig.admin().release("calls", b"1").await.unwrap());
        rig.log.commit([updated(1)]);
        rig.calls(&rig.log, &calls).run(rig.log.until_confirmed(3)).await.unwrap();
        assert_eq!(calls.ids().iter().filter(|id| **id == 1).count(), 6);
    })
    .await;
}

// shows: cdc::CaptureAdmin::status, cdc::CaptureAdmin::pause, cdc::CaptureAdmin::resume
#[tokio::test]
async fn paused_reader_applies_nothing_until_resumed() {
    in_time(async {
        let rig = Rig::begun().await;
        let calls = Calls::default();
        assert!(rig.admin().pause().await.unwrap());
        rig.log.commit([updated(1)]);
        let story = async {
            rig.log.until_started(2).await;
            assert!(rig.admin().status().await.unwrap().unwrap().is_paused);
            assert_eq!(calls.ids(), [0_i64; 0]);
            assert!(rig.admin().resume().await.unwrap());
            rig.log.until_confirmed(1).await;
        };
        rig.calls(&rig.log, &calls).lease(Duration::from_secs(1)).run(story).await.unwrap();
        assert_eq!(calls.ids(), [1]);
    })
    .await;
}

/// Each attempt of an outage was a further record of the spool, until it had no room for the invalidations of the program.
// shows: D1
#[tokio::test]
async fn outage_of_redis_takes_one_record_of_the_spool() {
    in_time(async {
        let (server, folder, clock) =
            (park::redis().await.unwrap(), tempfile::tempdir().unwrap(), TestClock::default());
        let port = server.url.rsplit(':').next().and_then(|rest| rest.split('/').next()).unwrap().parse().unwrap();
        let proxy = Proxy::start(port, 1).await.unwrap();
        let mut options = LinkOptions::from_url(&proxy.url(&server.url)).unwrap();
        server.prefix.clone_into(&mut options.prefix);
        let builder = Keel::builder().clock(clock.clock()).spool(folder.path(), SpoolOptions::default()).await.unwrap();
        let rig = Rig::begun_with(builder.connect_with(options).await.unwrap()).await;
        let (users, spool) = (users(&rig).await, rig.keel.spool().unwrap().clone());
        assert_eq!(read(&users, 1, "old").await, "old");
        let first = spool.append(PendingEffect::delete("probe", "1", "")).await.unwrap();
        proxy.refuse(true).await.unwrap();
        proxy.cut();
        rig.log.commit([updated(1)]);
        let story = async {
            while spool.topics().len() < 2 {
                clock.advance(Duration::from_secs(1));
                tokio::task::yield_now().await;
            }
            for _ in 0..1_000 {
                clock.advance(Duration::from_secs(1));
                tokio::task::yield_now().await;
            }
            proxy.refuse(false).await.unwrap();
            let mut confirmed = pin!(rig.log.until_confirmed(1));
            while tokio::time::timeout(Duration::from_millis(2), &mut confirmed).await.is_err() {
                clock.advance(Duration::from_secs(1));
            }
        };
        rig.capture(&rig.log, |rule| rule.cache(&users).key("id")).run(story).await.unwrap();
        assert_eq!(read(&users, 1, "new").await, "new");
        let last = spool.append(PendingEffect::delete("probe", "2", "")).await.unwrap();
        assert_eq!(last - first, 2, "the change of the row, and the probe");
    })
    .await;
}
