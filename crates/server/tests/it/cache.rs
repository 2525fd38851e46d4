//! `evenkeel cache` against a real Redis.

use crate::program::{Ran, evenkeel_async};
use crate::vectors::{KEY_TEXTS, shown};
use evenkeel::Keel;
use evenkeel::cache::key_text;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::Duration;
use testkit::park;

async fn cache(url: &str, arguments: &[&str]) -> Ran {
    evenkeel_async(&[&["cache", "--redis", url], arguments].concat()).await
}

#[tokio::test]
async fn entry_is_shown_and_invalidated() {
    let redis = park::redis().await.unwrap();
    let url = format!("{}?prefix={}", redis.url, redis.prefix);
    let keel = Keel::connect(&url).await.unwrap();
    let users = keel.cache::<(u32, u64), Value>("user").ttl(Duration::from_secs(600));
    let users = users.version(|user| user["version"].as_u64().unwrap()).open().await.unwrap();
    let read = async |version: u64| {
        let load = |_: &(u32, u64)| async move { Ok::<_, Infallible>(Some(json!({ "version": version }))) };
        users.get(&(7, 42), load).await.unwrap().unwrap()["version"].as_u64().unwrap()
    };
    let absent = cache(&url, &["show", "user", "7,42"]).await;
    assert_eq!((absent.code, absent.out.contains("no entry: the next read loads it")), (1, true), "{}", absent.out);

    assert_eq!(read(3).await, 3);
    let shown = cache(&url, &["show", "user", "7,42"]).await;
    assert_eq!(shown.code, 0, "{}", shown.err);
    for text in ["fresh: served to every reader", "version", "{\"version\":3}", "codec 1", "loaded"] {
        assert!(shown.out.contains(text), "{text}: {}", shown.out);
    }
    let shown: Value = serde_json::from_str(&cache(&url, &["show", "user", "7,42", "--json"]).await.out).unwrap();
    assert_eq!((&shown["state"], &shown["value"]["version"]), (&json!("fresh"), &json!(3)));
    assert_eq!(shown["value"]["body"], json!({ "version": 3 }));

    let done = cache(&url, &["invalidate", "user", "7,42", "--version", "4"]).await;
    assert_eq!((done.code, done.out.as_str()), (0, "user 7,42: invalidated\n"), "{}", done.err);
    let shown: Value = serde_json::from_str(&cache(&url, &["show", "user", "7,42", "--json"]).await.out).unwrap();
    assert_eq!((&shown["state"], &shown["minimum_version"]), (&json!("expired"), &json!(4)));
    assert_eq!(read(4).await, 4);
    let purged = cache(&url, &["invalidate", "user", "7,42", "--purge", "--json"]).await;
    let purged: Value = serde_json::from_str(&purged.out).unwrap();
    assert_eq!(purged["result"], json!("purged"));
    assert_eq!(read(5).await, 5);
}

/// An operator copied a key from Redis, or typed the text: the command said `invalidated`, and the entry stayed.
// shows: hazard BC3, cache::key_text, cache::CacheAdmin::purge, cache::CacheAdmin::invalidate
#[tokio::test]
async fn key_is_named_as_redis_shows_it_and_as_it_is() {
    let redis = park::redis().await.unwrap();
    let url = format!("{}?prefix={}", redis.url, redis.prefix);
    let keel = Keel::connect(&url).await.unwrap();
    let users = keel.cache::<String, u64>("user").ttl(Duration::from_secs(600)).open().await.unwrap();
    let read = async |text: &str, version: u64| {
        *users.get(text, |_| async move { Ok::<_, Infallible>(Some(version)) }).await.unwrap().unwrap()
    };
    let mut version = 0;
    for text in KEY_TEXTS {
        assert_eq!(read(text, version).await, version);
        for named in [text.to_owned(), key_text(text), shown(text)] {
            assert_eq!(cache(&url, &["show", "user", &named]).await.code, 0, "{named} is not found");
            let done = cache(&url, &["invalidate", "user", &named]).await;
            assert!(!done.out.contains("no entry"), "{named} names the entry of {text}: {}", done.out);
            version += 1;
            assert_eq!(read(text, version).await, version, "{named} names the entry of {text}");
        }
        version += 1;
    }
    let absent = cache(&url, &["invalidate", "user", "nosuch"]).await;
    assert!(absent.code == 0 && absent.out.contains("there was no entry"), "{}", absent.out);
}

#[tokio::test]
async fn errors_are_one_line_and_exit_code_2() {
    let redis = park::redis().await.unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["show", "a:b", "42"], "letters, digits"),
        (&["show", "user", ""], "the key must have 1 to 4096 bytes"),
        (&["invalidate", "user", ""], "the key must have 1 to 4096 bytes"),
    ];
    for (arguments, expected) in cases {
        let ran = cache(&redis.url, arguments).await;
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.err.contains(expected) && ran.err.lines().count() == 1, "{arguments:?}: {}", ran.err);
    }
    let both = cache(&redis.url, &["invalidate", "user", "42", "--purge", "--retain", "5s"]).await;
    assert_eq!((both.code, both.err.contains("cannot be used with")), (2, true), "{}", both.err);
    let unreachable = evenkeel_async(&["cache", "--redis", "redis://u:hidden@127.0.0.1:1", "show", "user", "42"]).await;
    assert_eq!((unreachable.code, unreachable.err.contains("hidden")), (2, false), "{}", unreachable.err);
}
