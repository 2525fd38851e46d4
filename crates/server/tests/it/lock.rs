//! `evenkeel lock` against a real Redis.

use crate::program::{Ran, evenkeel};
use evenkeel::Keel;
use serde_json::Value;
use std::time::Duration;
use testkit::park;

async fn lock(url: &str, words: &[&str]) -> Ran {
    let words: Vec<String> = ["lock", "--redis", url].iter().chain(words).map(ToString::to_string).collect();
    let run = move || evenkeel(&words.iter().map(String::as_str).collect::<Vec<_>>());
    tokio::task::spawn_blocking(run).await.unwrap()
}

#[tokio::test]
async fn an_operator_finds_a_lock_and_takes_it_away() {
    let redis = park::redis().await.unwrap();
    let url = format!("{}?prefix={}", redis.url, redis.prefix);
    let keel = Keel::connect(&url).await.unwrap();
    assert_eq!(lock(&url, &["show", "stock/42"]).await.code, 1);
    let empty = lock(&url, &["ls"]).await;
    assert!(empty.code == 0 && empty.out.starts_with("no lock, read/write lock or semaphore is held"), "{}", empty.out);
    let guard = keel.lock("stock/42").ttl(Duration::from_secs(300)).metadata("counter 7").acquire().await.unwrap();

    let listed: Value = serde_json::from_str(&lock(&url, &["ls", "--json"]).await.out).unwrap();
    assert_eq!(listed[0]["name"], "stock/42");
    assert_eq!(listed[0]["fence"], guard.fence().0);
    let shown = lock(&url, &["show", "stock/42"]).await;
    assert!(shown.code == 0 && shown.out.contains("counter 7") && shown.out.contains("held"), "{}", shown.out);

    let timid = lock(&url, &["release", "stock/42"]).await;
    assert!(timid.code == 2 && timid.err.contains("--force"), "{}", timid.err);
    let wrong = lock(&url, &["release", "stock/42", "--force", "--fence", "1"]).await;
    assert!(wrong.code == 1 && wrong.err.is_empty(), "{}{}", wrong.out, wrong.err);
    let fence = guard.fence().to_string();
    let taken = lock(&url, &["release", "stock/42", "--force", "--fence", &fence, "--reason", "ticket 9"]).await;
    assert_eq!(taken.code, 0, "{}", taken.err);
    let audit: Value = serde_json::from_str(&taken.err).unwrap();
    assert_eq!(
        (&audit["lock"], &audit["holder"], &audit["reason"]),
        (&"stock/42".into(), &"counter 7".into(), &"ticket 9".into())
    );
    // Its holder has not noticed yet; another process can have it at once.
    let other = Keel::connect(&url).await.unwrap();
    assert!(other.lock("stock/42").try_acquire().await.unwrap().is_some());
    assert!(!taken.out.is_empty() && lock(&url, &["release", "stock/43", "--force"]).await.code == 1);
}

/// Read/write locks and semaphores have several holders: each is listed, and can be taken away alone.
#[tokio::test]
async fn an_operator_finds_those_who_share() {
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
    assert!(listed.out.contains("2 reading") && listed.out.contains("2 of 3 out"), "{}", listed.out);
    let shown: Value = serde_json::from_str(&lock(&url, &["show", "shelf", "--json"]).await.out).unwrap();
    assert_eq!((&shown[0]["kind"], &shown[1]["kind"]), (&"rw".into(), &"semaphore".into()), "{shown}");
    assert_eq!((&shown[0]["fence"], &shown[1]["permits"]), (&first.fence().0.into(), &3.into()));
    let of_first = shown[0]["holders"].as_array().unwrap().iter().find(|holder| holder["holder"] == "counter 7");
    let owner = of_first.unwrap()["owner"].as_str().unwrap().to_owned();

    let release = ["release", "shelf", "--force", "--kind", "rw"];
    let wrong = lock(&url, &[&release[..], &["--fence", "7"]].concat()).await;
    assert!(wrong.code == 2 && wrong.err.contains("--holder"), "{}", wrong.err);
    let taken = lock(&url, &[&release[..], &["--holder", owner.as_str(), "--reason", "ticket 9"]].concat()).await;
    let audit: Value = serde_json::from_str(&taken.err).unwrap();
    assert_eq!(
        (&audit["kind"], &audit["holder"], &audit["reason"], &audit["owner"]),
        (&"rw".into(), &"counter 7".into(), &"ticket 9".into(), &owner.as_str().into())
    );
    assert!(lock(&url, &["ls"]).await.out.contains("1 reading"));
    let all = lock(&url, &["release", "shelf", "--force", "--kind", "semaphore"]).await;
    assert!(all.code == 0 && all.out.contains("one holder"), "{}{}", all.out, all.err);
    assert!(keel.semaphore("shelf", 3).take(3).try_acquire().await.unwrap().is_some());
    assert_eq!(lock(&url, &["release", "shelf", "--force", "--kind", "semaphore"]).await.code, 1);
    drop((first, second, desks));
}
