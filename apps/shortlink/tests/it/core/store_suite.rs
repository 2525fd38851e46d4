//! What every store promises, as one suite that each database passes.

use evenkeel::clock::TestClock;
use jiff::Timestamp;
use shortlink::domain::{Code, Link, LinkPatch, NewLink, PageRequest, Target, TargetRules};
use shortlink::store::{Checkpoint, DatabaseUrl, ImportLog, ImportRow, RowOutcome, Store, StoreError};
use std::collections::HashSet;
use std::time::Duration;

/// Tasks that make links at once, and how many each makes.
const MAKERS: usize = 8;
const LINKS_EACH: usize = 80;

/// Runs the whole suite on the empty database at `url`.
pub(super) async fn run(url: &DatabaseUrl) {
    let clock = TestClock::default();
    let store = open(url, &clock).await;
    store.ping().await.unwrap();
    a_link_comes_back_as_it_was_made(&store).await;
    odd_addresses_come_back_byte_for_byte(&store).await;
    codes_differ_by_case(&store).await;
    a_patch_changes_what_it_names(&store, &clock).await;
    a_code_made_again_has_a_higher_version(&store, &clock).await;
    a_list_has_pages_and_is_searched(&store).await;
    rows_are_walked_in_order(&store).await;
    an_import_adds_what_is_missing(&store).await;
    a_checkpoint_is_kept_with_its_rows(&store).await;
    a_code_in_the_way_is_passed_over(&store).await;
    instances_share_one_sequence(&store, url, &clock).await;
    one_of_many_wins(&store).await;
    imports_at_once_add_nothing_twice(&store, url, &clock).await;
    store.close().await;
}

async fn open(url: &DatabaseUrl, clock: &TestClock) -> Store {
    Store::open(url, clock.clock()).await.unwrap()
}

fn target(text: &str) -> Target {
    TargetRules::default().check(text, None).unwrap()
}

fn code(text: &str) -> Code {
    Code::alias(text).unwrap()
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap()
}

async fn make(store: &Store, alias: Option<&str>, address: &str) -> Result<Link, StoreError> {
    store.create(NewLink { alias: alias.map(code), target: target(address), expires_at: None }).await
}

fn row(alias: Option<&str>, address: &str) -> ImportRow {
    ImportRow {
        code: alias.map(code),
        alias: alias.is_some(),
        target: target(address),
        expires_at: None,
        created_at: None,
        updated_at: None,
        version: None,
    }
}

async fn a_link_comes_back_as_it_was_made(store: &Store) {
    let expires_at = Some(at(4_000_000_000_123));
    // A finer moment than the database keeps must not be answered once and never again.
    let finer = expires_at.map(|end| end + Duration::from_nanos(456_789));
    let new = NewLink { alias: None, target: target("https://example.com/first"), expires_at: finer };
    let link = store.create(new).await.unwrap();
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
    assert!(store.delete(&chosen.code, None).await.unwrap());
    assert!(!store.delete(&chosen.code, None).await.unwrap());
    assert_eq!(store.find(&chosen.code).await.unwrap(), None);
    assert_eq!(store.find_many(&[]).await.unwrap(), []);
}

async fn odd_addresses_come_back_byte_for_byte(store: &Store) {
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
        store.delete(&link.code, None).await.unwrap();
    }
}

/// With MySQL's default collation `aB3` and `ab3` are one code: 62 symbols become 36, and links cross.
async fn codes_differ_by_case(store: &Store) {
    let upper = make(store, Some("CaseD"), "https://example.com/upper").await.unwrap();
    let lower = make(store, Some("cased"), "https://example.com/lower").await.unwrap();
    assert_eq!(store.find(&upper.code).await.unwrap(), Some(upper.clone()));
    assert_eq!(store.find(&lower.code).await.unwrap(), Some(lower.clone()));
    assert_eq!(store.find(&code("cAsEd")).await.unwrap(), None);
    assert!(store.delete(&upper.code, None).await.unwrap());
    assert_eq!(store.find(&lower.code).await.unwrap(), Some(lower.clone()));
    store.delete(&lower.code, None).await.unwrap();
}

async fn a_patch_changes_what_it_names(store: &Store, clock: &TestClock) {
    let link = make(store, None, "https://example.com/old").await.unwrap();
    clock.advance(Duration::from_secs(1));
    let patch = LinkPatch { target: Some(target("https://example.com/new")), expires_at: None };
    let moved = store.patch(&link.code, patch, Some(link.version)).await.unwrap().unwrap();
    assert_eq!(moved.target.as_str(), "https://example.com/new");
    assert!(moved.version > link.version && moved.updated_at > link.updated_at);
    assert_eq!(store.find(&link.code).await.unwrap(), Some(moved.clone()));

    let end = Some(at(4_000_000_000_000));
    let stale = LinkPatch { target: None, expires_at: Some(end) };
    let conflict = store.patch(&link.code, stale.clone(), Some(link.version)).await;
    assert!(
        matches!(conflict, Err(StoreError::VersionConflict { current }) if current == moved.version),
        "{conflict:?}"
    );
    assert_eq!(store.find(&link.code).await.unwrap(), Some(moved.clone()));
    // Time stands still, the version grows all the same.
    let ending = store.patch(&link.code, stale, None).await.unwrap().unwrap();
    assert_eq!((ending.expires_at, ending.target.as_str()), (end, "https://example.com/new"));
    assert!(ending.version > moved.version);
    let outdated = store.delete(&link.code, Some(moved.version)).await;
    assert!(
        matches!(outdated, Err(StoreError::VersionConflict { current }) if current == ending.version),
        "{outdated:?}"
    );
    let endless =
        store.patch(&link.code, LinkPatch { target: None, expires_at: Some(None) }, None).await.unwrap().unwrap();
    assert_eq!(endless.expires_at, None);
    assert_eq!(store.patch(&code("nobody"), LinkPatch::default(), None).await.unwrap(), None);
    // An import finds the link by its new address, not by the old one.
    let outcomes =
        store.import(&[row(None, "https://example.com/new"), row(None, "https://example.com/old")]).await.unwrap();
    assert!(matches!(&outcomes[..], [RowOutcome::Present, RowOutcome::Created(_)]), "{outcomes:?}");
}

/// A version that starts again at the bottom loses against the old link's invalidation, and the new link is never cached.
async fn a_code_made_again_has_a_higher_version(store: &Store, clock: &TestClock) {
    let first = make(store, Some("again"), "https://example.com/1").await.unwrap();
    let moved = store.patch(&first.code, LinkPatch::default(), None).await.unwrap().unwrap();
    store.delete(&first.code, None).await.unwrap();
    clock.advance(Duration::from_millis(1));
    let second = make(store, Some("again"), "https://example.com/2").await.unwrap();
    assert!(second.version > moved.version);
}

async fn a_list_has_pages_and_is_searched(store: &Store) {
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
    // What is a wildcard to the database is a letter to whoever searches.
    assert_eq!(store.list(&page(1, Some("needle%x"))).await.unwrap().total, 0);
    assert_eq!(store.list(&page(1, Some("needle_0%"))).await.unwrap().total, 1);
    assert_eq!(store.list(&page(1, Some("needlex"))).await.unwrap().total, 0);
    let by_code = store.list(&page(1, Some(made[0].code.as_str()))).await.unwrap();
    assert_eq!(by_code.links, made[..1].to_vec());
    let all = store.list(&page(1, None)).await.unwrap();
    assert_eq!(all.links, made[..2].to_vec());
    assert!(all.total > 5);
}

async fn rows_are_walked_in_order(store: &Store) {
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

async fn an_import_adds_what_is_missing(store: &Store) {
    let there = make(store, Some("there"), "https://import.example/there").await.unwrap();
    let restored = ImportRow {
        created_at: Some(at(1_000)),
        updated_at: Some(at(2_000)),
        expires_at: Some(at(3_000)),
        version: Some(42),
        alias: false,
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
    let outcomes = store.import(&rows).await.unwrap();
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
            target: found.target
        },
        restored
    );

    let again = store.import(&rows).await.unwrap();
    let taken = again.iter().filter(|outcome| matches!(outcome, RowOutcome::Taken(_))).count();
    let present = again.iter().filter(|outcome| **outcome == RowOutcome::Present).count();
    assert_eq!((present, taken), (7, 2), "{again:?}");
}

async fn a_checkpoint_is_kept_with_its_rows(store: &Store) {
    let source = "f".repeat(64);
    let state = |text: &str| Checkpoint { source: source.clone(), state: text.to_owned() };
    assert_eq!(store.checkpoint(&source).await.unwrap(), None);
    let mut log = Noted(Ok(state("one")));
    store.import_logged(&[row(None, "https://checkpoint.example/1")], &mut log).await.unwrap();
    assert_eq!(store.checkpoint(&source).await.unwrap(), Some(state("one")));
    store.import_logged(&[], &mut Noted(Ok(state("{\"line\": 2}")))).await.unwrap();
    assert_eq!(store.checkpoint(&source).await.unwrap(), Some(state("{\"line\": 2}")));
    // A log that cannot be written takes the rows with it.
    let row = row(None, "https://checkpoint.example/2");
    let failed = store.import_logged(std::slice::from_ref(&row), &mut Noted(Err("disk full"))).await;
    assert!(matches!(&failed, Err(StoreError::Log(why)) if why.to_string() == "disk full"), "{failed:?}");
    assert!(matches!(&store.import(&[row]).await.unwrap()[..], [RowOutcome::Created(_)]));
    store.forget_checkpoint(&source).await.unwrap();
    assert_eq!(store.checkpoint(&source).await.unwrap(), None);
}

/// A log that answers always the same.
struct Noted(Result<Checkpoint, &'static str>);

impl ImportLog for Noted {
    fn keep(&mut self, _outcomes: &[RowOutcome]) -> std::io::Result<Checkpoint> {
        self.0.clone().map_err(std::io::Error::other)
    }
}

/// An alias of seven characters may stand where the sequence will arrive; the unique index is the last judge.
async fn a_code_in_the_way_is_passed_over(store: &Store) {
    let link = make(store, None, "https://way.example/").await.unwrap();
    let codes = store.code_maker();
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

async fn instances_share_one_sequence(store: &Store, url: &DatabaseUrl, clock: &TestClock) {
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

/// Of those who want the same alias, or change the same version, exactly one succeeds; the others are told.
async fn one_of_many_wins(store: &Store) {
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
        let patch =
            LinkPatch { target: Some(target(&format!("https://race.example/moved/{number}"))), expires_at: None };
        tokio::spawn(async move { store.patch(&link.code, patch, Some(link.version)).await })
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

async fn imports_at_once_add_nothing_twice(store: &Store, url: &DatabaseUrl, clock: &TestClock) {
    let other = open(url, clock).await;
    let rows: Vec<ImportRow> = (0..200).map(|number| row(None, &format!("https://twice.example/{number}"))).collect();
    let (one, two) = tokio::join!(store.import(&rows), other.import(&rows));
    let added = |outcomes: &[RowOutcome]| outcomes.iter().filter(|row| matches!(row, RowOutcome::Created(_))).count();
    assert_eq!(added(&one.unwrap()) + added(&two.unwrap()), rows.len());
    let listed = store.list(&PageRequest::new(Some("twice.example"), 1, 1).unwrap()).await.unwrap();
    assert_eq!(listed.total, 200);
    other.close().await;
}
