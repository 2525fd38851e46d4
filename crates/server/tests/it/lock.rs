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
