//! Shared helpers of the suite.

use evenkeel::Keel;
use evenkeel::sql::{Effects, SqlError};
use evenkeel::testing::TestClock;
use jiff::Timestamp;
use shortlink::domain::{ClickHistory, Code, Link, LinkPatch, NewLink, Target, TargetRules};
use shortlink::store::{Change, ChangeHook, Committed, DatabaseUrl, ImportRow, RowOutcome, Store, StoreError, Writer};
use std::sync::{Arc, Mutex};

/// Records the changes and can refuse them.
#[derive(Default)]
pub(in crate::core) struct RecordingHook {
    changes: Mutex<Vec<String>>,
    pub(super) refuses: Mutex<bool>,
}

impl RecordingHook {
    pub(in crate::core) fn changes(&self) -> Vec<String> {
        self.changes.lock().unwrap().clone()
    }
}

impl ChangeHook for RecordingHook {
    fn on_change(&self, change: &Change<'_>, _: &mut Effects) -> Result<(), SqlError> {
        if *self.refuses.lock().unwrap() {
            return Err(SqlError::Effect("it is refused".to_owned()));
        }
        self.changes.lock().unwrap().push(match change {
            Change::Created(link) => format!("created {}", link.code),
            Change::Imported(link) => format!("imported {}", link.code),
            Change::Changed { link, expiry_changed } => format!("changed {} {expiry_changed}", link.code),
            Change::Deleted(link) => format!("deleted {}", link.code),
            Change::Expired(link) => format!("expired {}", link.code),
            Change::MissingExpiryJob(link) => format!("missing job {}", link.code),
        });
        Ok(())
    }
}

pub(super) async fn open(url: &DatabaseUrl, clock: &TestClock) -> Writer {
    open_with_hook(url, clock, Arc::default()).await
}

pub(in crate::core) async fn open_with_hook(url: &DatabaseUrl, clock: &TestClock, hook: Arc<RecordingHook>) -> Writer {
    Store::open(url, clock.clock()).await.unwrap().writer(&Keel::memory(), hook)
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
        clicks: ClickHistory::default(),
    }
}
