//! Applying the pending writes of write-behind.

use super::tools::{at, change, code, delete, make, target};
use evenkeel::testing::TestClock;
use shortlink::domain::{Conflict, LinkPatch, Operation, PendingWrite};
use shortlink::store::{Applied, SpooledWrite, Writer};
use std::time::Duration;

/// Pending writes as a spool returns them, some of them repeatedly.
pub(super) async fn pending_writes_are_applied_in_order_and_once(store: &Writer, clock: &TestClock) {
    let first = i64::try_from(clock.clock().unix_ms()).unwrap() * 1_000;
    let waiting = |sequence: u64, alias: &str, operation: Operation| {
        let version = first + i64::try_from(sequence).unwrap();
        let write = PendingWrite { code: code(alias), version, at: at(first / 1_000), made_at: None, operation };
        SpooledWrite { spool: "one".to_owned(), sequence, write, body: format!("{{\"number\": {sequence}}}") }
    };
    let created = |address: &str| Operation::Create { target: target(address), alias: true, expires_at: None };
    let changed = |address: &str, expected| {
        let patch = LinkPatch { target: Some(target(address)), ..LinkPatch::default() };
        Operation::Change { patch, expected }
    };
    make(store, Some("noted-theirs"), "https://noted.example/theirs").await.unwrap();
    let writes = [
        waiting(1, "noted", created("https://noted.example/1")),
        waiting(2, "noted-theirs", created("https://noted.example/ours")),
        waiting(3, "noted", changed("https://noted.example/3", Some(first + 1))),
        waiting(4, "noted-gone", created("https://noted.example/4")),
        waiting(5, "noted-gone", Operation::Delete { expected: None }),
        waiting(6, "noted-none", changed("https://noted.example/6", None)),
    ];
    let settled = store.apply(&writes).await.unwrap();
    let expected = [
        Applied::Written,
        Applied::Conflict(Conflict::Taken),
        Applied::Written,
        Applied::Written,
        Applied::Written,
        Applied::Conflict(Conflict::Missing),
    ];
    assert_eq!(settled, expected);
    let noted = store.find(&code("noted")).await.unwrap().unwrap();
    assert_eq!((noted.target.as_str(), noted.version), ("https://noted.example/3", first + 3));
    assert_eq!(store.find(&code("noted-gone")).await.unwrap(), None);
    let kept = store.conflicts(10).await.unwrap();
    let kept: Vec<_> = kept.iter().map(|kept| (kept.details.code.as_str(), kept.details.reason.as_str())).collect();
    assert_eq!(kept, [("noted-none", "missing"), ("noted-theirs", "taken")]);

    // The process was killed before the spool recorded that they are applied, and a link was deleted since.
    clock.advance(Duration::from_secs(1));
    assert!(delete(store, &noted.code, None).await.unwrap());
    let overtaken = waiting(7, "noted-theirs", changed("https://noted.example/7", None));
    let theirs = change(store, &code("noted-theirs"), LinkPatch::default(), None).await.unwrap().unwrap();
    let again = [&writes[..], &[overtaken]].concat();
    let settled = store.apply(&again).await.unwrap();
    assert_eq!(settled[..6], [const { Applied::Earlier }; 6]);
    assert_eq!(settled[6], Applied::Conflict(Conflict::Overtaken { current: theirs.version }));
    assert_eq!(store.find(&noted.code).await.unwrap(), None, "it is not made a second time");

    // Another spool has its own sequences. A write that the database rejects becomes a conflict.
    let other = SpooledWrite { spool: "two".to_owned(), ..waiting(1, "noted", created("https://noted.example/two")) };
    assert_eq!(store.apply(std::slice::from_ref(&other)).await.unwrap(), [Applied::Written]);
    let refused = SpooledWrite { sequence: 2, ..other };
    store.give_up(&refused, "it is too long").await.unwrap();
    assert_eq!(store.apply(std::slice::from_ref(&refused)).await.unwrap(), [Applied::Earlier]);
    let kept = store.conflicts(10).await.unwrap();
    assert_eq!((kept.len(), kept[0].details.detail.as_str()), (4, "The database rejected the write: it is too long."));
    for conflict in kept {
        assert!(store.dismiss_conflict(conflict.number).await.unwrap());
    }
    assert_eq!(store.conflicts(10).await.unwrap(), []);
}
