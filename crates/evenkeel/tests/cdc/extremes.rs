//! Settings and arguments at their extremes.

use crate::rig::{Calls, Rig, in_time, updated, user};
use evenkeel::cdc::CdcError;
use evenkeel::cdc::source::{ChangeTable, Event, Poll, Row, Source, StartAt};
use std::time::Duration;

// shows: id::SnowflakeBuilder::build, cdc::Capture::run
#[tokio::test]
async fn extreme_settings_are_taken_or_refused() {
    in_time(async {
        let rig = Rig::begun().await;
        for (at, lease) in
            [Duration::ZERO, Duration::from_nanos(1), Duration::from_secs(3601), Duration::MAX].into_iter().enumerate()
        {
            rig.log.commit([updated(1)]);
            let calls = Calls::default();
            rig.calls(&rig.log, &calls).lease(lease).run(rig.log.until_confirmed(at as u64 + 1)).await.unwrap();
            assert_eq!(calls.ids(), [1], "{lease:?}");
        }
        let (long, longest) = ("n".repeat(65), "n".repeat(64));
        for (name, is_good) in
            [("", false), (long.as_str(), false), (longest.as_str(), true), ("\0", false), ("a'\"`", true)]
        {
            let rules = |rule: evenkeel::cdc::TableRules| {
                rule.call(name, |_| async { Ok::<_, std::io::Error>(()) }).keys(["id", "mail"])
            };
            let capture = rig.keel.cdc("names", &rig.pool, rig.log.source()).table("users", rules);
            let ended = capture.run(std::future::ready(())).await;
            assert_eq!(ended.is_ok(), is_good, "{name:?}: {ended:?}");
            let capture = rig.keel.cdc(name, &rig.pool, rig.log.source());
            let capture =
                capture.table("users", |rule| rule.call("r", |_| async { Ok::<_, std::io::Error>(()) }).key_uuid(""));
            let ended = capture.run(std::future::ready(())).await;
            assert_eq!(ended.is_ok(), is_good, "{name:?}: {ended:?}");
        }
        for table in ["", "public.", "."] {
            let rules =
                |rule: evenkeel::cdc::TableRules| rule.call("r", |_| async { Ok::<_, std::io::Error>(()) }).key("id");
            let ended =
                rig.keel.cdc("main", &rig.pool, rig.log.source()).table(table, rules).run(std::future::ready(())).await;
            assert!(matches!(ended, Err(CdcError::Settings(_))), "{table:?}");
        }
        let ended = rig.keel.cdc("main", &rig.pool, rig.log.source()).run(std::future::ready(())).await;
        assert!(matches!(ended, Err(CdcError::Settings(_))));
    })
    .await;
}

// shows: cdc::CaptureAdmin::status, cdc::CaptureAdmin::pause, cdc::CaptureAdmin::resume
#[tokio::test]
async fn extreme_calls_of_operators_end() {
    in_time(async {
        let rig = Rig::begun().await;
        let long = "r".repeat(100_000);
        for limit in [0, 1, usize::MAX] {
            assert_eq!(rig.admin().parked(limit).await.unwrap(), []);
        }
        for rule in ["", "r", long.as_str()] {
            for key in [&b""[..], b"\0", long.as_bytes()] {
                assert!(!rig.admin().release(rule, key).await.unwrap());
            }
        }
        let other = rig.keel.cdc_admin(&long, &rig.pool);
        assert_eq!(other.status().await.unwrap(), None);
        assert!(!other.pause().await.unwrap() && !other.resume().await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn extreme_settings_of_sources_are_taken_or_refused() {
    in_time(async {
        let rig = Rig::new().await;
        sqlx::raw_sql("CREATE TABLE goods (id INTEGER PRIMARY KEY, version BIGINT)").execute(&rig.pool).await.unwrap();
        for overlap in [0, 1, u64::MAX] {
            let mut source = Poll::new(&rig.pool, "goods", "version", overlap, ["id"]).every(Duration::MAX);
            source.start(StartAt::End { epoch: u64::MAX }).await.unwrap();
            assert!(matches!(source.next().await.unwrap()[0], Event::Idle { .. }), "{overlap}");
        }
        for table in ["", "\"", "a.b.c", "g\0"] {
            assert!(Poll::new(&rig.pool, table, table, 0, [table]).start(StartAt::End { epoch: 1 }).await.is_err());
            assert!(ChangeTable::new(&rig.pool).table(table, [table]).every(Duration::ZERO).install().await.is_err());
        }
    })
    .await;
}

#[test]
fn extreme_rows_have_no_such_column() {
    let long = "c".repeat(1 << 20);
    let rows =
        [Row::new([].into(), vec![]), Row::new(["id".into()].into(), vec![]), Row::new([].into(), vec![None; 3])];
    for row in rows.into_iter().chain([user(1, "a@b")]) {
        for column in ["", "\0", "i", "ids", &long] {
            assert_eq!(row.get(column), None);
        }
    }
}
