//! What follows a change, and what happens to a link later on.

use super::tools::{Told, at, change, code, create, delete, import, make, open_told, row, target};
use evenkeel::clock::TestClock;
use shortlink::domain::{LinkPatch, NewLink};
use shortlink::store::{DatabaseUrl, Ended, StoreError, Writer};
use std::sync::Arc;
use std::time::Duration;

/// What must follow a change is noted in its transaction: a change that cannot be followed is not made.
pub(super) async fn a_change_is_told_of_in_its_own_transaction(url: &DatabaseUrl, clock: &TestClock) {
    let told = Arc::new(Told::default());
    let store = open_told(url, clock, Arc::clone(&told)).await;
    let link = make(&store, Some("followed"), "https://followed.example/").await.unwrap();
    let ban = LinkPatch { banned: Some(true), ..LinkPatch::default() };
    let banned = change(&store, &link.code, ban.clone(), None).await.unwrap().unwrap();
    assert!(banned.banned && banned.version > link.version);
    let end = LinkPatch { expires_at: Some(Some(at(4_000_000_000_000))), ..LinkPatch::default() };
    change(&store, &link.code, end, None).await.unwrap();
    import(&store, &[row(Some("followed-2"), "https://followed.example/2")]).await.unwrap();

    *told.refuses.lock().unwrap() = true;
    let lift = LinkPatch { banned: Some(false), ..LinkPatch::default() };
    assert!(matches!(change(&store, &link.code, lift, None).await, Err(StoreError::Work(_))));
    assert!(delete(&store, &link.code, None).await.is_err());
    assert!(make(&store, Some("followed-3"), "https://followed.example/3").await.is_err());
    assert!(import(&store, &[row(Some("followed-3"), "https://followed.example/3")]).await.is_err());
    assert!(store.find(&link.code).await.unwrap().unwrap().banned);
    assert_eq!(store.find(&code("followed-3")).await.unwrap(), None);

    *told.refuses.lock().unwrap() = false;
    assert!(delete(&store, &link.code, None).await.unwrap());
    let expected =
        ["made followed", "changed followed false", "changed followed true", "imported followed-2", "deleted followed"];
    assert_eq!(told.told(), expected);
    store.close().await;
}

pub(super) async fn a_link_ends_once(store: &Writer, clock: &TestClock) {
    let now = i64::try_from(clock.clock().unix_ms()).unwrap();
    let new =
        |alias, end| NewLink { alias: Some(code(alias)), target: target("https://ends.example/"), expires_at: end };
    let end = at(now + 1_000);
    let link = create(store, new("ends", Some(end))).await.unwrap();
    assert_eq!(store.end(&link.code).await.unwrap(), Ended::Later(end));
    clock.advance(Duration::from_secs(2));
    assert_eq!(store.end(&link.code).await.unwrap(), Ended::Now);
    assert_eq!(store.end(&link.code).await.unwrap(), Ended::Before, "a job that comes twice changes nothing");
    assert_eq!(store.find(&link.code).await.unwrap(), Some(link.clone()), "its version stays, and so do its tags");
    // With a new end it can end again.
    let later = LinkPatch { expires_at: Some(Some(at(now + 10_000))), ..LinkPatch::default() };
    change(store, &link.code, later, None).await.unwrap();
    assert_eq!(store.end(&link.code).await.unwrap(), Ended::Later(at(now + 10_000)));
    clock.advance(Duration::from_secs(9));
    assert_eq!(store.end(&link.code).await.unwrap(), Ended::Now);
    let endless = create(store, new("endless", None)).await.unwrap();
    assert_eq!(store.end(&endless.code).await.unwrap(), Ended::Before);
    assert_eq!(store.end(&code("nobody")).await.unwrap(), Ended::Before);
}
