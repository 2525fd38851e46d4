//! One link: created, found, changed, deleted, and created again.

use super::tools::{at, change, code, create, delete, import, make, row, target};
use evenkeel::testing::TestClock;
use shortlink::domain::{LinkPatch, NewLink};
use shortlink::store::{RowOutcome, StoreError, Writer};
use std::time::Duration;

pub(super) async fn created_link_is_found_unchanged(store: &Writer) {
    let expires_at = Some(at(4_000_000_000_123));
    // A finer time than the database stores must be truncated in the response as well.
    let finer = expires_at.map(|end| end + Duration::from_nanos(456_789));
    let new = NewLink { alias: None, target: target("https://example.com/first"), expires_at: finer };
    let link = create(store, new).await.unwrap();
    assert_eq!(link.code.as_str().len(), 7);
    assert!(link.code.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric()));
    assert_eq!((link.alias, link.expires_at), (false, expires_at));
    assert_eq!(store.find(&link.code).await.unwrap(), Some(link.clone()));

    let chosen = make(store, Some("promo_2026-x"), "https://example.com/first").await.unwrap();
    assert!(chosen.alias);
    assert_eq!(store.find(&chosen.code).await.unwrap(), Some(chosen.clone()));
    let taken = make(store, Some("promo_2026-x"), "https://example.com/second").await;
    assert!(matches!(&taken, Err(StoreError::AliasTaken(code)) if code.as_str() == "promo_2026-x"), "{taken:?}");

    let both = store.find_many(&[link.code.clone(), code("nobody"), chosen.code.clone()]).await.unwrap();
    assert_eq!(both.len(), 2);
    assert!(delete(store, &chosen.code, None).await.unwrap());
    assert!(!delete(store, &chosen.code, None).await.unwrap());
    assert_eq!(store.find(&chosen.code).await.unwrap(), None);
    assert_eq!(store.find_many(&[]).await.unwrap(), []);
}

pub(super) async fn odd_urls_are_stored_byte_for_byte(store: &Writer) {
    let longest = format!("https://example.com/{}", "ä".repeat(3_980));
    for address in [
        "HTTP://EXAMPLE.com:80/%7e/../a?b=c&&#",
        "https://例え.jp/🦀?\u{301}",
        "http://example.com/'\"\\%_;--",
        &longest,
    ] {
        let link = make(store, None, address).await.unwrap();
        let found = store.find(&link.code).await.unwrap().unwrap();
        assert_eq!(found.target.as_str(), address);
        delete(store, &link.code, None).await.unwrap();
    }
}

/// With MySQL's default collation `aB3` and `ab3` are one code: 62 symbols become 36, and links cross.
pub(super) async fn codes_differ_by_case(store: &Writer) {
    let upper = make(store, Some("CaseD"), "https://example.com/upper").await.unwrap();
    let lower = make(store, Some("cased"), "https://example.com/lower").await.unwrap();
    assert_eq!(store.find(&upper.code).await.unwrap(), Some(upper.clone()));
    assert_eq!(store.find(&lower.code).await.unwrap(), Some(lower.clone()));
    assert_eq!(store.find(&code("cAsEd")).await.unwrap(), None);
    assert!(delete(store, &upper.code, None).await.unwrap());
    assert_eq!(store.find(&lower.code).await.unwrap(), Some(lower.clone()));
    delete(store, &lower.code, None).await.unwrap();
}

pub(super) async fn patch_changes_named_fields_only(store: &Writer, clock: &TestClock) {
    let link = make(store, None, "https://example.com/old").await.unwrap();
    clock.advance(Duration::from_secs(1));
    let patch = LinkPatch { target: Some(target("https://example.com/new")), expires_at: None, banned: None };
    let moved = change(store, &link.code, patch, Some(link.version)).await.unwrap().unwrap();
    assert_eq!(moved.target.as_str(), "https://example.com/new");
    assert!(moved.version > link.version && moved.updated_at > link.updated_at);
    assert_eq!(store.find(&link.code).await.unwrap(), Some(moved.clone()));

    let end = Some(at(4_000_000_000_000));
    let stale = LinkPatch { expires_at: Some(end), ..LinkPatch::default() };
    let conflict = change(store, &link.code, stale.clone(), Some(link.version)).await;
    assert!(
        matches!(conflict, Err(StoreError::VersionConflict { current }) if current == moved.version),
        "{conflict:?}"
    );
    assert_eq!(store.find(&link.code).await.unwrap(), Some(moved.clone()));
    // The clock does not advance, and the version increases nevertheless.
    let ending = change(store, &link.code, stale, None).await.unwrap().unwrap();
    assert_eq!((ending.expires_at, ending.target.as_str()), (end, "https://example.com/new"));
    assert!(ending.version > moved.version);
    let outdated = delete(store, &link.code, Some(moved.version)).await;
    assert!(
        matches!(outdated, Err(StoreError::VersionConflict { current }) if current == ending.version),
        "{outdated:?}"
    );
    let endless = change(store, &link.code, LinkPatch { expires_at: Some(None), ..LinkPatch::default() }, None)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(endless.expires_at, None);
    assert_eq!(change(store, &code("nobody"), LinkPatch::default(), None).await.unwrap(), None);
    // An import finds the link by its new target, not by the former one.
    let outcomes =
        import(store, &[row(None, "https://example.com/new"), row(None, "https://example.com/old")]).await.unwrap();
    assert!(matches!(&outcomes[..], [RowOutcome::Present, RowOutcome::Created(_)]), "{outcomes:?}");
}

/// If versions restarted, the new link would be below the version of the old link's invalidation and never be cached.
pub(super) async fn recreated_code_has_higher_version(store: &Writer, clock: &TestClock) {
    let first = make(store, Some("again"), "https://example.com/1").await.unwrap();
    let moved = change(store, &first.code, LinkPatch::default(), None).await.unwrap().unwrap();
    delete(store, &first.code, None).await.unwrap();
    clock.advance(Duration::from_millis(1));
    let second = make(store, Some("again"), "https://example.com/2").await.unwrap();
    assert!(second.version > moved.version);
}
