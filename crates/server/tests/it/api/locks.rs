//! Locks and invalidations over the API.

use super::caller::{Caller, answer, problem};
use crate::console::server::Console;
use crate::vectors::{KEY_TEXTS, shown};
use serde_json::json;
use std::convert::Infallible;
use std::time::Duration;

#[tokio::test]
async fn resent_acquisition_gets_the_same_fence() {
    let console = Console::start(false).await;
    let caller = Caller::local(&console);
    let ask = |owner: &str| json!({ "name": "stock/{42}", "owner": owner.repeat(32), "ttl_ms": 60_000 });
    let first = caller.act("/locks/acquire", &ask("a")).await;
    let again = caller.act("/locks/acquire", &ask("a")).await;
    assert_eq!((&first["is_granted"], &first["fence"]), (&json!(true), &again["fence"]));
    assert!(again["lease_ms"].as_u64().unwrap() <= 60_000);
    let other = caller.act("/locks/acquire", &ask("b")).await;
    assert!(other["is_granted"] == false && other["free_in_ms"].as_u64().unwrap() > 0, "{other}");
    assert_eq!(caller.act("/locks/renew", &ask("a")).await["is_held"], true);
    assert_eq!(caller.act("/locks/renew", &ask("b")).await["is_held"], false);
    let free = |owner: &str| json!({ "name": "stock/{42}", "owner": owner.repeat(32) });
    assert_eq!(caller.act("/locks/release", &free("b")).await["result"], "lost");
    assert_eq!(caller.act("/locks/release", &free("a")).await["result"], "released");
    assert_eq!(caller.act("/locks/release", &free("a")).await["result"], "free", "a resend");
    let next = caller.act("/locks/acquire", &ask("b")).await;
    let fence = |granted: &serde_json::Value| granted["fence"].as_str().unwrap().parse::<u64>().unwrap();
    assert!(fence(&next) > fence(&first));
    // The library sees the same lock.
    assert!(console.keel.lock("stock/{42}").try_acquire().await.unwrap().is_none());
}

#[tokio::test]
async fn acquisition_waits_for_the_release_of_another() {
    let console = Console::start(false).await;
    let caller = Caller::local(&console);
    let guard = console.keel.lock("stock/1").acquire().await.unwrap();
    let ask = json!({ "name": "stock/1", "owner": "c".repeat(32), "ttl_ms": 60_000, "wait_ms": 20_000 });
    let wait = caller.post("/locks/acquire", &ask);
    let release = async {
        guard.release().await.unwrap();
    };
    let (granted, ()) = tokio::join!(wait, release);
    assert_eq!(answer(&granted)["is_granted"], true);
}

#[tokio::test]
async fn extreme_lock_calls_are_refused() {
    let console = Console::start(false).await;
    let caller = Caller::local(&console);
    let good = json!({ "name": "a", "owner": "0".repeat(32), "ttl_ms": 1_000 });
    let cases = [
        ("name", json!("")),
        ("name", json!("x".repeat(513))),
        ("owner", json!("0".repeat(31))),
        ("owner", json!("g".repeat(32))),
        ("owner", json!(format!("+{}", "0".repeat(31)))),
        ("ttl_ms", json!(0)),
        ("ttl_ms", json!(999)),
        ("ttl_ms", json!(86_400_001)),
        ("ttl_ms", json!(u64::MAX)),
        ("wait_ms", json!(20_001)),
        ("metadata", json!("x".repeat(1_025))),
        ("fence_above", json!(u64::MAX)),
    ];
    for (field, value) in cases {
        let mut call = good.clone();
        call[field] = value;
        let refused = caller.post("/locks/acquire", &call).await;
        assert_eq!(problem(&refused).0, 422, "{field}: {}", refused.text);
    }
    caller.act("/locks/acquire", &good).await;
    for (field, value) in [
        ("key", json!("")),
        ("key", json!("x".repeat(4_097))),
        ("retain_ms", json!(u64::MAX)),
        ("lag_ms", json!(u64::MAX)),
    ] {
        let mut call = json!({ "key": "42" });
        call[field] = value;
        assert_eq!(problem(&caller.post("/caches/user/invalidate", &call).await).0, 422, "{field}");
    }
}

// shows: hazard BC3
#[tokio::test]
async fn invalidated_entry_is_loaded_again() {
    let console = Console::start(false).await;
    let cache = console.keel.cache::<String, String>("user").ttl(Duration::from_secs(600)).open().await.unwrap();
    let load = async |text: &str, value: &'static str| {
        let loaded = cache.get(text, |_| async move { Ok::<_, Infallible>(Some(value.to_owned())) }).await;
        loaded.unwrap().unwrap().as_ref().clone()
    };
    load("42", "old").await;
    assert_eq!(load("42", "new").await, "old", "cached");
    let caller = Caller::local(&console);
    let invalidate = async |key: &str| caller.act("/caches/user/invalidate", &json!({ "key": key })).await;
    assert_eq!(invalidate("42").await["result"], "invalidated");
    assert_eq!(load("42", "new").await, "new");
    assert_eq!(invalidate("nosuch").await["result"], "no_entry");
    for text in KEY_TEXTS {
        for named in [text.to_owned(), shown(text)] {
            load(text, "old").await;
            assert_eq!(invalidate(&named).await["result"], "invalidated", "{named}");
            assert_eq!(load(text, "new").await, "new", "{named} names the entry of {text}");
            invalidate(&named).await;
        }
    }
}
