//! `evenkeel lock` against a real Redis.

use crate::program::{Ran, evenkeel_async};
use evenkeel::Keel;
use serde_json::Value;
use std::time::Duration;
use testkit::park;

async fn lock(url: &str, arguments: &[&str]) -> Ran {
    evenkeel_async(&[&["lock", "--redis", url], arguments].concat()).await
}

// shows: hazard S14, hazard CL18
#[tokio::test]
async fn lock_is_listed_shown_and_broken() {
    let redis = park::redis().await.unwrap();
    let url = format!("{}?prefix={}", redis.url, redis.prefix);
    let keel = Keel::connect(&url).await.unwrap();
    assert_eq!(lock(&url, &["show", "stock/42"]).await.code, 1);
    let empty = lock(&url, &["ls"]).await;
    assert!(
        empty.code == 0 && empty.out.starts_with("no lock, read/write lock or semaphore is in use"),
        "{}",
        empty.out
    );
    let guard = keel.lock("stock/42").ttl(Duration::from_secs(300)).metadata("counter 7").acquire().await.unwrap();

    let listed: Value = serde_json::from_str(&lock(&url, &["ls", "--json"]).await.out).unwrap();
    assert_eq!(listed[0]["name"], "stock/42");
    assert_eq!(listed[0]["fence"], guard.fence().0);
    let shown = lock(&url, &["show", "stock/42"]).await;
    assert!(shown.code == 0 && shown.out.contains("counter 7") && shown.out.contains("held"), "{}", shown.out);

    let unconfirmed = lock(&url, &["break", "stock/42"]).await;
    assert!(unconfirmed.code == 2 && unconfirmed.err.contains("--force"), "{}", unconfirmed.err);
    let wrong = lock(&url, &["release", "stock/42", "--force", "--fence", "1"]).await;
    assert!(wrong.code == 1 && wrong.err.is_empty(), "{}{}", wrong.out, wrong.err);
    let fence = guard.fence().to_string();
    let broken = lock(&url, &["release", "stock/42", "--force", "--fence", &fence, "--reason", "ticket 9"]).await;
    assert_eq!(broken.code, 0, "{}", broken.err);
    let audit: Value = serde_json::from_str(&broken.err).unwrap();
    assert_eq!(
        (&audit["lock"], &audit["holder"], &audit["reason"]),
        (&"stock/42".into(), &"counter 7".into(), &"ticket 9".into())
    );
    // The holder has not noticed yet; another process can acquire the lock at once.
    let other = Keel::connect(&url).await.unwrap();
    assert!(other.lock("stock/42").try_acquire().await.unwrap().is_some());
    assert!(!broken.out.is_empty() && lock(&url, &["release", "stock/43", "--force"]).await.code == 1);
}

/// An operator copied the name from a key in Redis, where `}` is `%7D`: "is free", while a program held it.
// shows: hazard BC3, hazard CL26
#[tokio::test]
async fn lock_is_named_as_redis_shows_it() {
    let redis = park::redis().await.unwrap();
    let url = format!("{}?prefix={}", redis.url, redis.prefix);
    let keel = Keel::connect(&url).await.unwrap();
    let held = keel.lock("a}b").ttl(Duration::from_secs(300)).acquire().await.unwrap();
    let shown: Value = serde_json::from_str(&lock(&url, &["show", "a%7Db", "--json"]).await.out).unwrap();
    assert_eq!(shown[0]["name"], "a}b");
    // A lock that has this name itself comes first.
    let other = keel.lock("a%7Db").ttl(Duration::from_secs(300)).acquire().await.unwrap();
    let own: Value = serde_json::from_str(&lock(&url, &["show", "a%7Db", "--json"]).await.out).unwrap();
    assert_eq!((own.as_array().unwrap().len(), &own[0]["name"]), (1, &"a%7Db".into()));
    other.release().await.unwrap();
    // Without the fencing token a later holder could lose the lock: the command says which it is.
    let any = lock(&url, &["release", "a%7Db", "--force"]).await;
    let fence = held.fence().to_string();
    assert!(any.code == 2 && any.err.contains(&format!("add --fence {fence}")), "{}", any.err);
    let broken = lock(&url, &["release", "a%7Db", "--force", "--fence", &fence]).await;
    assert!(broken.code == 0 && broken.out.contains("a}b was broken"), "{}{}", broken.out, broken.err);
}

/// Each of several holders is listed, and the lock can be broken for one of them.
#[tokio::test]
async fn shared_locks_are_listed_and_broken_per_holder() {
    let redis = park::redis().await.unwrap();
    let url = format!("{}?prefix={}", redis.url, redis.prefix);
    let keel = Keel::connect(&url).await.unwrap();
    let ttl = Duration::from_secs(300);
    let shelf = keel.rw_lock("shelf");
    let readers = [shelf.read().ttl(ttl).metadata("counter 7"), shelf.read().ttl(ttl).metadata("counter 8")]
        .map(|ask| ask.acquire());
    let [first, second] = readers;
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    let desks = keel.semaphore("shelf", 3).take(2).ttl(ttl).acquire().await.unwrap();

    let listed = lock(&url, &["ls"]).await;
    assert!(listed.out.contains("readers: 2") && listed.out.contains("2 of 3 permits held"), "{}", listed.out);
    let shown: Value = serde_json::from_str(&lock(&url, &["show", "shelf", "--json"]).await.out).unwrap();
    assert_eq!((&shown[0]["kind"], &shown[1]["kind"]), (&"rw".into(), &"semaphore".into()), "{shown}");
    assert_eq!((&shown[0]["fence"], &shown[1]["permits"]), (&first.fence().0.into(), &3.into()));
    let of_first = shown[0]["holders"].as_array().unwrap().iter().find(|holder| holder["holder"] == "counter 7");
    let owner = of_first.unwrap()["owner"].as_str().unwrap().to_owned();

    let release = ["release", "shelf", "--force", "--kind", "rw"];
    let wrong = lock(&url, &[&release[..], &["--fence", "7"]].concat()).await;
    assert!(wrong.code == 2 && wrong.err.contains("--holder"), "{}", wrong.err);
    let broken = lock(&url, &[&release[..], &["--holder", owner.as_str(), "--reason", "ticket 9"]].concat()).await;
    let audit: Value = serde_json::from_str(&broken.err).unwrap();
    assert_eq!(
        (&audit["kind"], &audit["holder"], &audit["reason"], &audit["owner"]),
        (&"rw".into(), &"counter 7".into(), &"ticket 9".into(), &owner.as_str().into())
    );
    assert!(lock(&url, &["ls"]).await.out.contains("readers: 1"));
    let all = lock(&url, &["release", "shelf", "--force", "--kind", "semaphore"]).await;
    assert!(all.code == 0 && all.out.contains("one holder"), "{}{}", all.out, all.err);
    assert!(keel.semaphore("shelf", 3).take(3).try_acquire().await.unwrap().is_some());
    assert_eq!(lock(&url, &["release", "shelf", "--force", "--kind", "semaphore"]).await.code, 1);
    drop((first, second, desks));
}
