//! The effects of a change, and the expiry of a link.

use super::tools::{RecordingHook, at, change, code, create, delete, import, make, open_with_hook, row, target};
use evenkeel::testing::TestClock;
use shortlink::domain::{LinkPatch, NewLink};
use shortlink::store::{DatabaseUrl, ExpiryOutcome, StoreError, Writer};
use std::sync::Arc;
use std::time::Duration;

/// Effects are added in the transaction of their change: if they cannot be added, the change is rolled back.
pub(super) async fn effects_commit_with_their_change(url: &DatabaseUrl, clock: &TestClock) {
    let hook = Arc::new(RecordingHook::default());
    let store = open_with_hook(url, clock, Arc::clone(&hook)).await;
    let link = make(&store, Some("followed"), "https://followed.example/").await.unwrap();
    let ban = LinkPatch { banned: Some(true), ..LinkPatch::default() };
    let banned = change(&store, &link.code, ban.clone(), None).await.unwrap().unwrap();
    assert!(banned.banned && banned.version > link.version);
    let end = LinkPatch { expires_at: Some(Some(at(4_000_000_000_000))), ..LinkPatch::default() };
    change(&store, &link.code, end, None).await.unwrap();
    import(&store, &[row(Some("followed-2"), "https://followed.example/2")]).await.unwrap();

    *hook.refuses.lock().unwrap() = true;
    let lift = LinkPatch { banned: Some(false), ..LinkPatch::default() };
    assert!(matches!(change(&store, &link.code, lift, None).await, Err(StoreError::Work(_))));
    assert!(delete(&store, &link.code, None).await.is_err());
    assert!(make(&store, Some("followed-3"), "https://followed.example/3").await.is_err());
    assert!(import(&store, &[row(Some("followed-3"), "https://followed.example/3")]).await.is_err());
    assert!(store.find(&link.code).await.unwrap().unwrap().banned);
    assert_eq!(store.find(&code("followed-3")).await.unwrap(), None);

    *hook.refuses.lock().unwrap() = false;
    assert!(delete(&store, &link.code, None).await.unwrap());
    let expected = [
        "created followed",
        "changed followed false",
        "changed followed true",
        "imported followed-2",
        "deleted followed",
    ];
    assert_eq!(hook.changes(), expected);
    store.close().await;
}

pub(super) async fn link_expires_once(store: &Writer, clock: &TestClock) {
    let now = i64::try_from(clock.clock().unix_ms()).unwrap();
    let new =
        |alias, end| NewLink { alias: Some(code(alias)), target: target("https://ends.example/"), expires_at: end };
    let end = at(now + 1_000);
    let link = create(store, new("ends", Some(end))).await.unwrap();
    assert_eq!(store.expire(&link.code).await.unwrap(), ExpiryOutcome::NotYet(end));
    clock.advance(Duration::from_secs(2));
    assert_eq!(store.expire(&link.code).await.unwrap(), ExpiryOutcome::Marked);
    assert_eq!(
        store.expire(&link.code).await.unwrap(),
        ExpiryOutcome::Unchanged,
        "a second run of the job has no effect"
    );
    assert_eq!(
        store.find(&link.code).await.unwrap(),
        Some(link.clone()),
        "its version and so its `ETag` stay the same"
    );
    // With a new expiry it can expire again.
    let later = LinkPatch { expires_at: Some(Some(at(now + 10_000))), ..LinkPatch::default() };
    change(store, &link.code, later, None).await.unwrap();
    assert_eq!(store.expire(&link.code).await.unwrap(), ExpiryOutcome::NotYet(at(now + 10_000)));
    clock.advance(Duration::from_secs(9));
    assert_eq!(store.expire(&link.code).await.unwrap(), ExpiryOutcome::Marked);
    let endless = create(store, new("endless", None)).await.unwrap();
    assert_eq!(store.expire(&endless.code).await.unwrap(), ExpiryOutcome::Unchanged);
    assert_eq!(store.expire(&code("nobody")).await.unwrap(), ExpiryOutcome::Unchanged);
}
