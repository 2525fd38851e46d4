//! What the parts of the suite have in common.

use evenkeel::Keel;
use evenkeel::clock::TestClock;
use evenkeel::sql::{Effects, SqlError};
use jiff::Timestamp;
use shortlink::domain::{Code, Link, LinkPatch, NewLink, Target, TargetRules};
use shortlink::store::{Change, Committed, DatabaseUrl, Follow, ImportRow, RowOutcome, Store, StoreError, Writer};
use std::sync::{Arc, Mutex};

/// Remembers what it was told of, and may refuse it.
#[derive(Default)]
pub(in crate::core) struct Told {
    changes: Mutex<Vec<String>>,
    pub(super) refuses: Mutex<bool>,
}

impl Told {
    pub(in crate::core) fn told(&self) -> Vec<String> {
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

pub(super) async fn open(url: &DatabaseUrl, clock: &TestClock) -> Writer {
    open_told(url, clock, Arc::default()).await
}

pub(in crate::core) async fn open_told(url: &DatabaseUrl, clock: &TestClock, told: Arc<Told>) -> Writer {
    Store::open(url, clock.clock()).await.unwrap().writer(&Keel::memory(), told)
}

pub(super) async fn create(store: &Writer, new: NewLink) -> Result<Link, StoreError> {
    store.create(new).await.map(|committed| committed.value)
}

pub(super) async fn change(
    store: &Writer,
    code: &Code,
    patch: LinkPatch,
    expected: Option<i64>,
) -> Result<Option<Link>, StoreError> {
    Ok(store.patch(code, &patch, expected).await?.map(|committed| committed.value))
}

pub(super) async fn delete(store: &Writer, code: &Code, expected: Option<i64>) -> Result<bool, StoreError> {
    Ok(store.delete(code, expected).await?.is_some())
}

pub(super) async fn import(store: &Writer, rows: &[ImportRow]) -> Result<Vec<RowOutcome>, StoreError> {
    let Committed { value, .. } = store.import(rows).await?;
    Ok(value)
}

pub(super) fn target(text: &str) -> Target {
    TargetRules::default().check(text, None).unwrap()
}

pub(super) fn code(text: &str) -> Code {
    Code::alias(text).unwrap()
}

pub(super) fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap()
}

pub(super) async fn make(store: &Writer, alias: Option<&str>, address: &str) -> Result<Link, StoreError> {
    create(store, NewLink { alias: alias.map(code), target: target(address), expires_at: None }).await
}

pub(super) fn row(alias: Option<&str>, address: &str) -> ImportRow {
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
