//! Concurrency: generated codes and conflicting writes.

use super::tools::{change, make, open, target};
use evenkeel::testing::TestClock;
use shortlink::domain::{Code, LinkPatch};
use shortlink::store::{DatabaseUrl, StoreError, Writer};
use std::collections::HashSet;

/// Concurrent tasks that create links, and links per task.
const MAKERS: usize = 8;
const LINKS_EACH: usize = 80;

/// An alias of seven characters may equal a later generated code; the unique index decides.
pub(super) async fn taken_code_is_skipped(store: &Writer) {
    let link = make(store, None, "https://way.example/").await.unwrap();
    let codes = store.code_generator();
    let number = codes.number(&link.code).unwrap();
    let upcoming: Vec<Code> = (number + 1..=number + 3).filter_map(|number| codes.code(number)).collect();
    for (number, code) in upcoming.iter().enumerate() {
        let alias = make(store, Some(code.as_str()), &format!("https://way.example/{number}")).await.unwrap();
        assert!(alias.alias);
    }
    let next = make(store, None, "https://way.example/next").await.unwrap();
    assert!(!upcoming.contains(&next.code) && next.code != link.code && !next.alias);
    for (number, code) in upcoming.iter().enumerate() {
        assert_eq!(store.find(code).await.unwrap().unwrap().target.as_str(), format!("https://way.example/{number}"));
    }
}

pub(super) async fn instances_share_one_sequence(store: &Writer, url: &DatabaseUrl, clock: &TestClock) {
    let other = open(url, clock).await;
    let makers = (0..MAKERS).map(|maker| {
        let store = if maker % 2 == 0 { store.clone() } else { other.clone() };
        tokio::spawn(async move {
            let mut codes = Vec::new();
            for number in 0..LINKS_EACH {
                codes.push(make(&store, None, &format!("https://makers.example/{maker}/{number}")).await.unwrap().code);
            }
            codes
        })
    });
    let mut codes = HashSet::new();
    for maker in makers.collect::<Vec<_>>() {
        codes.extend(maker.await.unwrap());
    }
    assert_eq!(codes.len(), MAKERS * LINKS_EACH, "a code was given twice");
    let found = store.find_many(&codes.into_iter().collect::<Vec<_>>()).await.unwrap();
    assert_eq!(found.len(), MAKERS * LINKS_EACH);
    other.close().await;
}

/// Of concurrent writes of one alias, or of one version, exactly one succeeds and the others get an error.
pub(super) async fn one_of_concurrent_writes_wins(store: &Writer) {
    let tries = (0..MAKERS).map(|number| {
        let store = store.clone();
        tokio::spawn(async move { make(&store, Some("wanted"), &format!("https://race.example/{number}")).await })
    });
    let mut winners = Vec::new();
    for outcome in tries.collect::<Vec<_>>() {
        match outcome.await.unwrap() {
            Ok(link) => winners.push(link),
            Err(error) => assert!(matches!(error, StoreError::AliasTaken(_)), "{error:?}"),
        }
    }
    let [link] = &winners[..] else { panic!("{winners:?}") };
    assert_eq!(store.find(&link.code).await.unwrap().as_ref(), Some(link));

    let tries = (0..MAKERS).map(|number| {
        let (store, link) = (store.clone(), link.clone());
        let patch = LinkPatch {
            target: Some(target(&format!("https://race.example/moved/{number}"))),
            expires_at: None,
            banned: None,
        };
        tokio::spawn(async move { change(&store, &link.code, patch, Some(link.version)).await })
    });
    let mut winners = Vec::new();
    for outcome in tries.collect::<Vec<_>>() {
        match outcome.await.unwrap() {
            Ok(link) => winners.push(link.unwrap()),
            Err(error) => assert!(matches!(error, StoreError::VersionConflict { .. }), "{error:?}"),
        }
    }
    let [moved] = &winners[..] else { panic!("{winners:?}") };
    assert_eq!(store.find(&link.code).await.unwrap().as_ref(), Some(moved));
}
