//! Every public parameter at zero, one, its bounds, just above them, and at its largest: it is accepted, shortened as
//! documented, or rejected with an error. Nothing blocks, panics or overflows, and reads, writes and invalidations continue.

use super::db::Db;
use super::rig::{Rig, Rows, some};
use evenkeel::Keel;
use evenkeel::cache::admin::{Mode, Outdated};
use evenkeel::cache::{AfterWait, CacheBuilder, CacheError, Freshness, OpenWindow, WhileWriting};
use evenkeel_published::Protocol;
use std::convert::Infallible;
use std::time::Duration;

on_both! {
    cache_with_extreme_settings_works_or_is_rejected
    cache_with_all_spans_extreme_works
    reads_and_invalidations_with_extreme_options_work
    keys_and_batches_of_extreme_size_are_answered
    windows_with_extreme_settings_report_their_end
    extreme_operator_parameters_are_applied_or_rejected
}

pub(super) type Change = Box<dyn Fn(CacheBuilder<u64, String>) -> CacheBuilder<u64, String>>;

pub(super) fn spans() -> Vec<Duration> {
    let ms = Duration::from_millis(1);
    let longest = Duration::from_millis(1 << 40);
    let mut spans = vec![Duration::ZERO, Duration::from_nanos(1), ms, 10 * ms, Duration::from_secs(600)];
    spans.extend([longest - ms, longest, longest + ms, Duration::from_secs(u64::MAX), Duration::MAX]);
    spans
}

pub(super) const COUNTS: [usize; 7] = [0, 1, 2, 1 << 20, u32::MAX as usize, usize::MAX >> 3, usize::MAX];

/// Settings of time.
pub(super) fn of_spans(keel: &Keel) -> Vec<(String, Change)> {
    let mut all: Vec<(String, Change)> = Vec::new();
    macro_rules! span {
        ($(.$setting:ident)+) => {
            for span in spans() {
                $(all.push((format!("{} {span:?}", stringify!($setting)), Box::new(move |builder| builder.$setting(span))));)+
            }
        };
    }
    span! {
        .ttl .absent_ttl .lease .load_budget .load_timeout .refresh_window .retain_stale .fail_safe .load_soft_timeout .retry_after .wait_max
        .store_timeout .replay_window .write_window .transaction_max .suspect_ttl .reads_replicas
    }
    for span in spans() {
        let name = |what: &str| format!("{what} {span:?}");
        all.push((name("breaker"), Box::new(move |builder| builder.breaker(u32::MAX, span))));
        all.push((name("near_age_max"), Box::new(move |builder| builder.near(9).near_age_max(span))));
        all.push((name("silence_max"), Box::new(move |builder| builder.near(9).silence_max(span))));
        all.push((name("soft"), Box::new(move |builder| builder.fail_safe(Duration::MAX).load_soft_timeout(span))));
        all.push((name("bounded"), Box::new(move |builder| builder.freshness(Freshness::Bounded(span)))));
        all.push((name("if error"), Box::new(move |builder| builder.freshness(Freshness::StaleIfError(span)))));
        let twice = Protocol::DelayedDoubleDelete { delay: span, keel: keel.clone() };
        all.push((name("double delete"), Box::new(move |builder| builder.protocol(twice.clone()))));
        all.push((name("lease alone"), Box::new(move |builder| builder.protocol(Protocol::Lease).lease(span))));
    }
    all
}

/// Settings of numbers.
pub(super) fn of_counts() -> Vec<(String, Change)> {
    let mut all: Vec<(String, Change)> = Vec::new();
    macro_rules! count {
        ($(.$setting:ident)+) => {
            for count in COUNTS {
                $(all.push((format!("{} {count}", stringify!($setting)), Box::new(move |builder| builder.$setting(count))));)+
            }
        };
    }
    count! { .waiters_max .loads_max .replay_max .compress_from .value_bytes_max .near .near_bytes }
    for count in COUNTS {
        all.push((
            format!("weight {count}"),
            Box::new(move |builder| builder.near_bytes(1 << 20).near_weight(move |_| count)),
        ));
        let version = count as u64;
        all.push((format!("version {count}"), Box::new(move |builder| builder.version(move |_| version))));
        all.push((format!("both {count}"), Box::new(move |builder| builder.near(count).near_bytes(usize::MAX))));
    }
    for part in [-1.0, 0.0, f64::MIN_POSITIVE, 0.5, 0.500_001, 1.0, f64::MAX, f64::INFINITY, f64::NAN] {
        all.push((format!("ttl_jitter {part}"), Box::new(move |builder| builder.ttl_jitter(part))));
    }
    for number in [0, 1, u32::MAX] {
        all.push((format!("schema {number}"), Box::new(move |builder| builder.schema(number))));
        all.push((format!("breaker {number}"), Box::new(move |builder| builder.breaker(number, Duration::MAX))));
    }
    for choice in [WhileWriting::Wait, WhileWriting::Load, WhileWriting::Fail] {
        all.push((
            format!("{choice:?}"),
            Box::new(move |builder| builder.while_writing(choice).after_wait(AfterWait::Fail)),
        ));
    }
    all
}

/// A load, a hit or another load, a write, an invalidation, a batch.
pub(super) async fn works(rows: &Rows, what: &str) {
    let db = Db::with("a");
    for round in 0..2 {
        let got = rows.get(&1, |key| db.find(*key)).await;
        assert_eq!(got.map(|row| row.as_deref().cloned()).map_err(|error| error.to_string()), Ok(some("a")), "{what}");
        rows.until_idle().await;
        let written = rows.write(&1, || async { Ok::<_, Infallible>(()) }).await;
        assert!(written.is_ok() || what.contains("double") || what.contains("alone"), "{what}: {written:?}");
        rows.invalidate(&1).await.unwrap();
        rows.invalidate_at(&2, round).await.unwrap();
        let found = rows.get_many(&[1, 2, 3], |missing| db.find_many(missing)).await.unwrap();
        assert_eq!((found.len(), found[&1].as_deref().cloned()), (3, some("a")), "{what}");
        rows.purge(&1).await.unwrap();
    }
}

// shows: hazard A38
async fn cache_with_extreme_settings_works_or_is_rejected(rig: Rig) {
    let keel = rig.process().await;
    let (mut taken, mut refused) = (0, 0);
    for (number, (what, change)) in of_spans(&keel).into_iter().chain(of_counts()).enumerate() {
        let builder = keel.cache(&format!("row-{number}")).ttl(Duration::from_secs(600));
        match change(builder.store_timeout(Duration::from_secs(10))).open().await {
            Ok(rows) => {
                works(&rows, &what).await;
                taken += 1;
            }
            Err(CacheError::Settings { reason, .. }) => {
                assert!(reason.len() > 20 && !reason.contains('\n'), "{what}: {reason}");
                refused += 1;
            }
            Err(error) => panic!("{what}: {error}"),
        }
    }
    assert!(taken > 150 && refused > 50, "{taken} taken, {refused} refused");
}

// shows: hazard A38, spec/cache.md
async fn cache_with_all_spans_extreme_works(rig: Rig) {
    let (keel, forever) = (rig.process().await, Duration::MAX);
    let builder = keel.cache("forever").ttl(forever).wait_max(forever).load_timeout(forever).retry_after(forever);
    let builder = builder.store_timeout(forever).replay_window(forever).write_window(forever).transaction_max(forever);
    works(&builder.retain_stale(forever).breaker(u32::MAX, forever).open().await.unwrap(), "forever").await;
}

// shows: hazard A38
async fn reads_and_invalidations_with_extreme_options_work(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.version(|_| u64::MAX).near(100)).await;
    let db = Db::with("a");
    let mut all = vec![Freshness::Eventual, Freshness::Fresh, Freshness::StaleWhileRevalidate];
    all.extend(spans().into_iter().flat_map(|span| [Freshness::Bounded(span), Freshness::StaleIfError(span)]));
    let versions = [0, 1, (1 << 53) + 1, u64::MAX - 1, u64::MAX];
    all.extend(versions.map(Freshness::AtLeast));
    for freshness in all {
        for _ in 0..2 {
            let found = rows.get_with(&1, freshness, |key| db.find(*key)).await.unwrap();
            assert_eq!(found.value.as_deref().cloned(), some("a"), "{freshness:?}");
        }
        let row = db.find(1);
        let found = rows.get_from(&1, freshness, |_| row).await.unwrap();
        assert_eq!(found.value.as_deref().cloned(), some("a"), "{freshness:?}");
        let found = rows.get_many_from(&[1, 2], freshness, |missing, _| db.find_many(missing)).await.unwrap();
        assert_eq!((found.len(), found[&1].as_deref().cloned()), (2, some("a")), "{freshness:?}");
    }
    for version in versions {
        rows.invalidate_at(&1, version).await.unwrap();
        let found = rows.get_with(&1, Freshness::AtLeast(version), |key| db.find(*key)).await.unwrap();
        assert_eq!(found.value.as_deref().cloned(), some("a"), "{version}");
        let write = async |open: OpenWindow| {
            open.wrote_version(version);
            Ok::<_, Infallible>(())
        };
        rows.write_with(&1, write).await.unwrap();
    }
}

// shows: hazard A38
async fn keys_and_batches_of_extreme_size_are_answered(rig: Rig) {
    let keel = rig.process().await;
    let texts = keel.cache::<str, String>("text").ttl(Duration::from_secs(600)).near(100).open().await.unwrap();
    let long = "k".repeat(1 << 20);
    for key in ["", "{", "}", "%", "\\", "\0", ",", "a{b}c", &long] {
        for _ in 0..3 {
            let row = texts.get(key, |key| {
                let row = key.len().to_string();
                async { Ok::<_, Infallible>(Some(row)) }
            });
            assert_eq!(row.await.unwrap().as_deref(), Some(&key.len().to_string()));
        }
        texts.write(key, || async { Ok::<_, Infallible>(()) }).await.unwrap();
        texts.invalidate(key).await.unwrap();
    }
    let (rows, db) = (rig.rows().await, Db::new());
    for count in [0, 1, 499, 500, 501, 2_000] {
        let keys: Vec<u64> = (0..count).collect();
        let found = rows.get_many(&keys, |missing| db.find_many(missing)).await.unwrap();
        assert_eq!(found.len(), keys.len());
        let written = rows.write_many(&keys, async |_| Ok::<_, Infallible>(())).await;
        assert!(written.unwrap().window.is_closed(), "{count}");
        rows.invalidate_many(&keys).await.unwrap();
    }
}

/// The test's servers have no replicas, so a window on one is rejected after its timeout, or by the builder.
// shows: hazard A38
async fn windows_with_extreme_settings_report_their_end(rig: Rig) {
    let keel = rig.process().await;
    for (number, span) in spans().into_iter().enumerate() {
        for count in [0, 1, u32::MAX] {
            let name = format!("row-{number}-{count}");
            // The call waits an hour for replicas that do not exist.
            if count > 0 && span > Duration::from_millis(10) {
                continue;
            }
            let builder = keel.cache(&name).ttl(Duration::from_secs(600)).windows_on_replicas(count, span);
            let Ok(rows) = builder.open().await else { continue };
            let rows: Rows = rows;
            let begun = rows.begin_write(&1).await;
            match begun {
                Ok(window) => assert!(count == 0 && window.end().await.is_closed(), "{name}, {span:?}"),
                Err(CacheError::WindowNotReplicated { .. }) => assert!(count > 0, "{name}, {span:?}"),
                Err(error) => panic!("{name}, {span:?}: {error}"),
            }
        }
    }
    let rows = rig.rows().await;
    for version in [0, 1, u64::MAX] {
        let window = rows.begin_write(&1).await.unwrap();
        assert!(window.end_at(version).await.is_closed(), "{version}");
    }
}

// shows: cache::Keel::cache_admin
async fn extreme_operator_parameters_are_applied_or_rejected(rig: Rig) {
    let (keel, rows, db) = (rig.process().await, rig.rows().await, Db::with("a"));
    let longest = keel.cache_admin(&"n".repeat(64)).unwrap();
    assert!(longest.inspect(&"k".repeat(4_096)).await.unwrap().entry.is_none());
    assert!(keel.cache_admin(&"n".repeat(65)).is_err());
    let admin = keel.cache_admin("row").unwrap();
    let (mut taken, mut refused) = (0, 0);
    for version in [None, Some(0), Some(1), Some((1 << 53) + 1), Some(u64::MAX)] {
        for retain_ms in [0, 1, (1 << 40) - 1, 1 << 40, (1 << 40) + 1, u64::MAX] {
            for lag_max in spans() {
                let mode = Mode::Expire { retain_ms };
                match admin.invalidate("1", Outdated { version, mode, lag_max }).await {
                    Ok(_) => taken += 1,
                    Err(CacheError::Settings { .. }) => refused += 1,
                    Err(error) => panic!("{version:?}, {retain_ms}, {lag_max:?}: {error}"),
                }
            }
        }
        let row = rows.get(&1, |key| db.find(*key)).await.unwrap();
        assert_eq!(row.as_deref().cloned(), some("a"), "{version:?}");
    }
    assert_eq!((taken, refused), (5 * 4 * 7, 5 * (4 * 3 + 2 * 10)));
}

/// A store without capacity stores nothing, and reads succeed.
// shows: hazard A38
#[tokio::test]
async fn memory_of_extreme_size_serves_reads() {
    for bytes in COUNTS {
        let keel = Keel::builder().memory_with(bytes);
        let rows = keel.cache("row").ttl(Duration::from_secs(600)).open().await.unwrap();
        works(&rows, &format!("{bytes} bytes of memory")).await;
    }
}
