//! SQLite store.
use evenkeel::clock::Clock;
use shortlink::domain::*;
use shortlink::store::*;

#[tokio::test]
async fn sqlite_store() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&DatabaseUrl::Sqlite(dir.path().join("links.db")), Clock::system()).await.unwrap();
    let target = TargetRules::default().check("https://example.com/", None).unwrap();
    let link = store.create(NewLink { alias: None, target: target.clone(), expires_at: None }).await.unwrap();
    assert_eq!(store.find(&link.code).await.unwrap(), Some(link.clone()));
    let page = store.list(&PageRequest::new(Some("EXAMPLE"), 1, 10).unwrap()).await.unwrap();
    assert_eq!(page.links.len(), 1);
    let moved =
        store.patch(&link.code, LinkPatch { expires_at: Some(None), ..Default::default() }, None).await.unwrap();
    assert!(moved.unwrap().version > link.version);
    assert!(store.delete(&link.code).await.unwrap());
    assert!(!store.delete(&link.code).await.unwrap());
}
