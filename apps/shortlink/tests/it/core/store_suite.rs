//! What every store promises, as one suite that each database passes.

use evenkeel::Keel;
use evenkeel::clock::TestClock;
use evenkeel::sql::{Effects, SqlError};
use jiff::Timestamp;
use shortlink::domain::{
    Code, Conflict, Link, LinkPatch, NewLink, NotedWrite, PageRequest, Target, TargetRules, Wanted,
};
use shortlink::store::{
    Change, Checkpoint, Committed, DatabaseUrl, Ended, Follow, ImportLog, ImportRow, RowOutcome, Settled, Store,
    StoreError, Waiting, Writer,
};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
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
    a_change_is_told_of_in_its_own_transaction(url, &clock).await;
    a_link_ends_once(&store, &clock).await;
    noted_writes_are_settled_in_order_and_once(&store, &clock).await;
    store.close().await;
}

/// Remembers what it was told of, and may refuse it.
#[derive(Default)]
pub(super) struct Told {
    changes: Mutex<Vec<String>>,
    refuses: Mutex<bool>,
}

impl Told {
    pub(super) fn told(&self) -> Vec<String> {
        self.changes.lock().unwrap().clone()
    }
}

impl Follow for Told {
    fn follow(&self, change: &Change<'_>, _: &mut Effects) -> Result<(), SqlError> {
        if *self.refuses.lock().unwrap() {
            return Err(SqlError::Effect("it is refused".to_owned()));
        }
        self.changes.lock().unwrap().push(match change {
            Change::Made(link) => format!("made {}", link.code),
            Change::Imported(link) => format!("imported {}", link.code),
            Change::Changed { link, end_moved } => format!("changed {} {end_moved}", link.code),
            Change::Deleted(link) => format!("deleted {}", link.code),
            Change::Ended(link) => format!("ended {}", link.code),
            Change::Ending(link) => format!("ending {}", link.code),
        });
        Ok(())
    }
}

async fn open(url: &DatabaseUrl, clock: &TestClock) -> Writer {
    open_told(url, clock, Arc::default()).await
}

pub(super) async fn open_told(url: &DatabaseUrl, clock: &TestClock, told: Arc<Told>) -> Writer {
    Store::open(url, clock.clock()).await.unwrap().writer(&Keel::memory(), told)
}

async fn create(store: &Writer, new: NewLink) -> Result<Link, StoreError> {
    store.create(new).await.map(|committed| committed.value)
}

async fn change(
    store: &Writer,
    code: &Code,
    patch: LinkPatch,
    expected: Option<i64>,
) -> Result<Option<Link>, StoreError> {
    Ok(store.patch(code, &patch, expected).await?.map(|committed| committed.value))
}

async fn delete(store: &Writer, code: &Code, expected: Option<i64>) -> Result<bool, StoreError> {
    Ok(store.delete(code, expected).await?.is_some())
}

async fn import(store: &Writer, rows: &[ImportRow]) -> Result<Vec<RowOutcome>, StoreError> {
    let Committed { value, .. } = store.import(rows).await?;
    Ok(value)
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

async fn make(store: &Writer, alias: Option<&str>, address: &str) -> Result<Link, StoreError> {
    create(store, NewLink { alias: alias.map(code), target: target(address), expires_at: None }).await
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
        banned: false,
    }
}

async fn a_link_comes_back_as_it_was_made(store: &Writer) {
    let expires_at = Some(at(4_000_000_000_123));
    // A finer moment than the database keeps must not be answered once and never again.
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

async fn odd_addresses_come_back_byte_for_byte(store: &Writer) {
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
async fn codes_differ_by_case(store: &Writer) {
    let upper = make(store, Some("CaseD"), "https://example.com/upper").await.unwrap();
    let lower = make(store, Some("cased"), "https://example.com/lower").await.unwrap();
    assert_eq!(store.find(&upper.code).await.unwrap(), Some(upper.clone()));
    assert_eq!(store.find(&lower.code).await.unwrap(), Some(lower.clone()));
    assert_eq!(store.find(&code("cAsEd")).await.unwrap(), None);
    assert!(delete(store, &upper.code, None).await.unwrap());
    assert_eq!(store.find(&lower.code).await.unwrap(), Some(lower.clone()));
    delete(store, &lower.code, None).await.unwrap();
}

async fn a_patch_changes_what_it_names(store: &Writer, clock: &TestClock) {
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
    // Time stands still, the version grows all the same.
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
    // An import finds the link by its new address, not by the old one.
    let outcomes =
        import(store, &[row(None, "https://example.com/new"), row(None, "https://example.com/old")]).await.unwrap();
    assert!(matches!(&outcomes[..], [RowOutcome::Present, RowOutcome::Created(_)]), "{outcomes:?}");
}

/// A version that starts again at the bottom loses against the old link's invalidation, and the new link is never cached.
async fn a_code_made_again_has_a_higher_version(store: &Writer, clock: &TestClock) {
    let first = make(store, Some("again"), "https://example.com/1").await.unwrap();
    let moved = change(store, &first.code, LinkPatch::default(), None).await.unwrap().unwrap();
    delete(store, &first.code, None).await.unwrap();
    clock.advance(Duration::from_millis(1));
    let second = make(store, Some("again"), "https://example.com/2").await.unwrap();
    assert!(second.version > moved.version);
}

async fn a_list_has_pages_and_is_searched(store: &Writer) {
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

async fn rows_are_walked_in_order(store: &Writer) {
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

async fn an_import_adds_what_is_missing(store: &Writer) {
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
        },
        restored
    );

    let again = import(store, &rows).await.unwrap();
    let taken = again.iter().filter(|outcome| matches!(outcome, RowOutcome::Taken(_))).count();
    let present = again.iter().filter(|outcome| **outcome == RowOutcome::Present).count();
    assert_eq!((present, taken), (7, 2), "{again:?}");
}

async fn a_checkpoint_is_kept_with_its_rows(store: &Writer) {
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
    assert!(matches!(&import(store, &[row]).await.unwrap()[..], [RowOutcome::Created(_)]));
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
async fn a_code_in_the_way_is_passed_over(store: &Writer) {
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

async fn instances_share_one_sequence(store: &Writer, url: &DatabaseUrl, clock: &TestClock) {
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
async fn one_of_many_wins(store: &Writer) {
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

async fn imports_at_once_add_nothing_twice(store: &Writer, url: &DatabaseUrl, clock: &TestClock) {
    let other = open(url, clock).await;
    let rows: Vec<ImportRow> = (0..200).map(|number| row(None, &format!("https://twice.example/{number}"))).collect();
    let (one, two) = tokio::join!(import(store, &rows), import(&other, &rows));
    let added = |outcomes: &[RowOutcome]| outcomes.iter().filter(|row| matches!(row, RowOutcome::Created(_))).count();
    assert_eq!(added(&one.unwrap()) + added(&two.unwrap()), rows.len());
    let listed = store.list(&PageRequest::new(Some("twice.example"), 1, 1).unwrap()).await.unwrap();
    assert_eq!(listed.total, 200);
    other.close().await;
}

/// What must follow a change is noted in its transaction: a change that cannot be followed is not made.
async fn a_change_is_told_of_in_its_own_transaction(url: &DatabaseUrl, clock: &TestClock) {
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

async fn a_link_ends_once(store: &Writer, clock: &TestClock) {
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

/// Writes that were accepted before the database heard of them, as a spool hands them out: some of them again.
async fn noted_writes_are_settled_in_order_and_once(store: &Writer, clock: &TestClock) {
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
