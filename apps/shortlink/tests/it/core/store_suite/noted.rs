//! Writes that were accepted before the database heard of them.

use super::tools::{at, change, code, delete, make, target};
use evenkeel::clock::TestClock;
use shortlink::domain::{Conflict, LinkPatch, NotedWrite, Wanted};
use shortlink::store::{Settled, Waiting, Writer};
use std::time::Duration;

/// Writes that were accepted before the database heard of them, as a spool hands them out: some of them again.
pub(super) async fn noted_writes_are_settled_in_order_and_once(store: &Writer, clock: &TestClock) {
    let first = i64::try_from(clock.clock().unix_ms()).unwrap() * 1_000;
    let waiting = |sequence: u64, alias: &str, wanted: Wanted| {
        let version = first + i64::try_from(sequence).unwrap();
        let write = NotedWrite { code: code(alias), version, at: at(first / 1_000), made_at: None, wanted };
        Waiting { spool: "one".to_owned(), sequence, write, body: format!("{{\"number\": {sequence}}}") }
    };
    let created = |address: &str| Wanted::Create { target: target(address), alias: true, expires_at: None };
    let changed = |address: &str, expected| {
        let patch = LinkPatch { target: Some(target(address)), ..LinkPatch::default() };
        Wanted::Change { patch, expected }
    };
    make(store, Some("noted-theirs"), "https://noted.example/theirs").await.unwrap();
    let writes = [
        waiting(1, "noted", created("https://noted.example/1")),
        waiting(2, "noted-theirs", created("https://noted.example/ours")),
        waiting(3, "noted", changed("https://noted.example/3", Some(first + 1))),
        waiting(4, "noted-gone", created("https://noted.example/4")),
        waiting(5, "noted-gone", Wanted::Delete { expected: None }),
        waiting(6, "noted-none", changed("https://noted.example/6", None)),
    ];
    let settled = store.settle(&writes).await.unwrap();
    let expected = [
        Settled::Written,
        Settled::Conflict(Conflict::Taken),
        Settled::Written,
        Settled::Written,
        Settled::Written,
        Settled::Conflict(Conflict::Missing),
    ];
    assert_eq!(settled, expected);
    let noted = store.find(&code("noted")).await.unwrap().unwrap();
    assert_eq!((noted.target.as_str(), noted.version), ("https://noted.example/3", first + 3));
    assert_eq!(store.find(&code("noted-gone")).await.unwrap(), None);
    let kept = store.conflicts(10).await.unwrap();
    let kept: Vec<_> = kept.iter().map(|kept| (kept.told.code.as_str(), kept.told.reason.as_str())).collect();
    assert_eq!(kept, [("noted-none", "missing"), ("noted-theirs", "taken")]);

    // The process died before it had noted that they are settled, and meanwhile somebody has deleted a link.
    clock.advance(Duration::from_secs(1));
    assert!(delete(store, &noted.code, None).await.unwrap());
    let overtaken = waiting(7, "noted-theirs", changed("https://noted.example/7", None));
    let theirs = change(store, &code("noted-theirs"), LinkPatch::default(), None).await.unwrap().unwrap();
    let again = [&writes[..], &[overtaken]].concat();
    let settled = store.settle(&again).await.unwrap();
    assert_eq!(settled[..6], [const { Settled::Before }; 6]);
    assert_eq!(settled[6], Settled::Conflict(Conflict::Overtaken { current: theirs.version }));
    assert_eq!(store.find(&noted.code).await.unwrap(), None, "it is not made a second time");

    // Another spool counts for itself; and what the database refuses is kept when it is given up.
    let other = Waiting { spool: "two".to_owned(), ..waiting(1, "noted", created("https://noted.example/two")) };
    assert_eq!(store.settle(std::slice::from_ref(&other)).await.unwrap(), [Settled::Written]);
    let refused = Waiting { sequence: 2, ..other };
    store.give_up(&refused, "it is too long").await.unwrap();
    assert_eq!(store.settle(std::slice::from_ref(&refused)).await.unwrap(), [Settled::Before]);
    let kept = store.conflicts(10).await.unwrap();
    assert_eq!((kept.len(), kept[0].told.detail.as_str()), (4, "The database refused it: it is too long."));
    for conflict in kept {
        assert!(store.dismiss_conflict(conflict.number).await.unwrap());
    }
    assert_eq!(store.conflicts(10).await.unwrap(), []);
}
