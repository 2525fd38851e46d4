//! Imports, checkpoints, and concurrent imports.

use super::tools::{at, code, import, make, open, row};
use evenkeel::testing::TestClock;
use shortlink::domain::{ClickHistory, DayNumber, PageRequest};
use shortlink::store::{Checkpoint, DatabaseUrl, ImportRow, RowOutcome, StoreError, Writer};
use std::io;

pub(super) async fn import_adds_missing_rows(store: &Writer) {
    let there = make(store, Some("there"), "https://import.example/there").await.unwrap();
    let restored = ImportRow {
        created_at: Some(at(1_000)),
        updated_at: Some(at(2_000)),
        expires_at: Some(at(3_000)),
        version: Some(42),
        alias: false,
        banned: true,
        ..row(Some("Abc123x"), "https://import.example/restored")
    };
    let rows = [
        row(Some("there"), "https://import.example/there"),
        row(Some("there"), "https://import.example/elsewhere"),
        row(None, "https://import.example/there"),
        row(None, "https://import.example/new"),
        row(None, "https://import.example/new"),
        row(None, "https://IMPORT.example/new"),
        row(Some("second-name"), "https://import.example/there"),
        restored.clone(),
        row(Some("Abc123x"), "https://import.example/other"),
    ];
    let outcomes = import(store, &rows).await.unwrap();
    let [
        RowOutcome::Present,
        RowOutcome::Taken(taken),
        RowOutcome::Present,
        RowOutcome::Created(new),
        RowOutcome::Present,
        RowOutcome::Created(_),
        RowOutcome::Created(second),
        RowOutcome::Created(_),
        RowOutcome::Taken(_),
    ] = &outcomes[..]
    else {
        panic!("{outcomes:?}")
    };
    assert_eq!((taken.as_str(), second.as_str()), ("there", "second-name"));
    assert_eq!(store.find(new).await.unwrap().unwrap().target.as_str(), "https://import.example/new");
    assert_eq!(store.find(&there.code).await.unwrap(), Some(there));
    let found = store.find(&code("Abc123x")).await.unwrap().unwrap();
    assert_eq!(
        ImportRow {
            code: Some(found.code),
            version: Some(found.version),
            created_at: Some(found.created_at),
            updated_at: Some(found.updated_at),
            expires_at: found.expires_at,
            alias: found.alias,
            target: found.target,
            banned: found.banned,
            clicks: ClickHistory::default(),
        },
        restored
    );

    let again = import(store, &rows).await.unwrap();
    let taken = again.iter().filter(|outcome| matches!(outcome, RowOutcome::Taken(_))).count();
    let present = again.iter().filter(|outcome| **outcome == RowOutcome::Present).count();
    assert_eq!((present, taken), (7, 2), "{again:?}");
}

/// Regression: the counters were lost. An export has 366 days, and adds older clicks to the first of them.
pub(super) async fn clicks_are_imported_with_their_link_only(store: &Writer) {
    let today = DayNumber::of_ms(store.now().as_millisecond());
    let clicks = format!("0001-01-01:3/1 0001-01-03:1/0 {}:2/0", today.date()).parse().unwrap();
    let visited = ImportRow { clicks, ..row(Some("visited"), "https://import.example/visited") };
    let rows = [visited, row(Some("unvisited"), "https://import.example/unvisited")];
    for _ in 0..2 {
        import(store, &rows).await.unwrap();
        let counted = store.clicks(&code("visited"), 1).await.unwrap().total;
        assert_eq!((counted.people, counted.bots), (6, 1));
    }
    let exported = store.click_histories(&[code("visited"), code("unvisited")]).await.unwrap();
    let days: Vec<_> = exported[&code("visited")].days().map(|(_, counts)| counts.all()).collect();
    assert_eq!((exported.len(), days), (1, vec![5, 2]), "{exported:?}");
}

pub(super) async fn checkpoint_commits_with_its_rows(store: &Writer) {
    let source = "f".repeat(64);
    let state = |text: &str| Checkpoint { source: source.clone(), state: text.to_owned() };
    assert_eq!(store.checkpoint(&source).await.unwrap(), None);
    let mut log = fixed_log(Ok(state("one")));
    store.import_logged(&[row(None, "https://checkpoint.example/1")], &mut log).await.unwrap();
    assert_eq!(store.checkpoint(&source).await.unwrap(), Some(state("one")));
    store.import_logged(&[], &mut fixed_log(Ok(state("{\"line\": 2}")))).await.unwrap();
    assert_eq!(store.checkpoint(&source).await.unwrap(), Some(state("{\"line\": 2}")));
    // If the log fails, the rows are rolled back.
    let row = row(None, "https://checkpoint.example/2");
    let failed = store.import_logged(std::slice::from_ref(&row), &mut fixed_log(Err("disk full"))).await;
    assert!(matches!(&failed, Err(StoreError::Log(why)) if why.to_string() == "disk full"), "{failed:?}");
    assert!(matches!(&import(store, &[row]).await.unwrap()[..], [RowOutcome::Created(_)]));
    store.delete_checkpoint(&source).await.unwrap();
    assert_eq!(store.checkpoint(&source).await.unwrap(), None);
}

/// A log that always returns the same.
fn fixed_log(result: Result<Checkpoint, &'static str>) -> impl FnMut(&[RowOutcome]) -> io::Result<Checkpoint> {
    move |_| result.clone().map_err(io::Error::other)
}

pub(super) async fn concurrent_imports_add_each_row_once(store: &Writer, url: &DatabaseUrl, clock: &TestClock) {
    let other = open(url, clock).await;
    let rows: Vec<ImportRow> = (0..200).map(|number| row(None, &format!("https://twice.example/{number}"))).collect();
    let (one, two) = tokio::join!(import(store, &rows), import(&other, &rows));
    let added = |outcomes: &[RowOutcome]| outcomes.iter().filter(|row| matches!(row, RowOutcome::Created(_))).count();
    assert_eq!(added(&one.unwrap()) + added(&two.unwrap()), rows.len());
    let listed = store.list(&PageRequest::new(Some("twice.example"), 1, 1).unwrap()).await.unwrap();
    assert_eq!(listed.total, 200);
    other.close().await;
}
