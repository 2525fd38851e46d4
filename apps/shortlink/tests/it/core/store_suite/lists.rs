//! Lists, searches, and walks over all links.

use super::tools::make;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use shortlink::domain::PageRequest;
use shortlink::store::Writer;

pub(super) async fn list_is_paged_and_searched(store: &Writer) {
    let mut made = Vec::new();
    for number in 0..5 {
        made.push(make(store, None, &format!("https://pages.example/Needle_{number}%x")).await.unwrap());
    }
    made.reverse();
    let page = |number, search| PageRequest::new(search, number, 2).unwrap();
    let first = store.list(&page(1, Some("nEEdle_"))).await.unwrap();
    assert_eq!((first.links, first.total, first.total_is_capped), (made[..2].to_vec(), 5, false));
    assert_eq!(store.list(&page(3, Some("NEEDLE_"))).await.unwrap().links, made[4..].to_vec());
    assert_eq!(store.list(&page(4, Some("needle"))).await.unwrap().links, []);
    // Wildcards of LIKE are literal in a search.
    assert_eq!(store.list(&page(1, Some("needle%x"))).await.unwrap().total, 0);
    assert_eq!(store.list(&page(1, Some("needle_0%"))).await.unwrap().total, 1);
    assert_eq!(store.list(&page(1, Some("needlex"))).await.unwrap().total, 0);
    let by_code = store.list(&page(1, Some(made[0].code.as_str()))).await.unwrap();
    assert_eq!(by_code.links, made[..1].to_vec());
    let all = store.list(&page(1, None)).await.unwrap();
    assert_eq!(all.links, made[..2].to_vec());
    assert!(all.total > 5);
    // Only the case of A-Z is ignored, on every database: MariaDB found `u` and `U` for `ü`.
    for path in ["münch-U", "mÜnch-u", "munch-u"] {
        make(store, None, &format!("https://letters.example/{path}")).await.unwrap();
    }
    for (search, expected) in [("MüNCH-u", 1), ("mÜnch", 1), ("munch", 1), ("nch-U", 3), ("letters.example/m\u{1}", 0)]
    {
        assert_eq!(store.list(&page(1, Some(search))).await.unwrap().total, expected, "{search}");
    }
    // Every search text that a page accepts, the database accepts: the longest one has the most wildcards to escape.
    for search in ["%".repeat(8_000), "x".repeat(8_000)] {
        let longest = PageRequest::new(Some(&search), 1, 2).unwrap();
        assert_eq!(store.list(&longest).await.unwrap().total, 0);
    }
}

pub(super) async fn rows_are_walked_in_insertion_order(store: &Writer) {
    let (mut after, mut seen) = (0, Vec::new());
    loop {
        let rows = store.rows_after(after, 3).await.unwrap();
        let Some((last, _)) = rows.last() else { break };
        assert!(rows.len() <= 3 && *last > after);
        after = *last;
        seen.extend(rows.into_iter().map(|(_, link)| link));
    }
    let mut newest_first = store.list(&PageRequest::new(None, 1, 200).unwrap()).await.unwrap().links;
    newest_first.reverse();
    assert_eq!(seen, newest_first);
}

/// Forty searches start before the redirect; SQLite has four read connections.
// shows: hazard S6
pub(super) async fn redirect_does_not_wait_for_searches(store: &Writer) {
    let link = make(store, None, "https://pages.example/redirect").await.unwrap();
    store.find(&link.code).await.unwrap();
    let search = PageRequest::new(Some("pages.example"), 1, 2).unwrap();
    let mut searches: FuturesUnordered<_> = (0..40).map(|_| store.list(&search)).collect();
    let mut redirect = Box::pin(store.find(&link.code));
    let mut before = 0;
    loop {
        tokio::select! {
            biased;
            Some(found) = searches.next() => {
                found.unwrap();
                before += 1;
            }
            found = &mut redirect => break assert!(found.unwrap().is_some()),
        }
    }
    assert!(before < 36, "{before} of 40 searches were answered before it");
    while let Some(found) = searches.next().await {
        found.unwrap();
    }
}
