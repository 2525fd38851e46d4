//! A fleet whose processes have a cache of rows.

use super::db::Db;
pub(super) use crate::in_time;
use crate::rig::{Fleet, Store};
use evenkeel::cache::{Cache, CacheBuilder, CacheError, Found, Freshness};
use evenkeel::link::LinkError;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// A cache of rows as text, and the loader of its readers.
pub(super) type Rows = Cache<u64, String>;

/// A fleet of processes, each with the cache `row`.
pub(super) struct Rig(Fleet);

impl Deref for Rig {
    type Target = Fleet;

    fn deref(&self) -> &Fleet {
        &self.0
    }
}

impl Rig {
    pub(super) fn memory() -> Self {
        Self(Fleet::memory())
    }

    pub(super) async fn redis() -> Self {
        Self(Fleet::redis().await)
    }

    /// With a Redis that no other test uses.
    pub(super) async fn own_redis() -> Self {
        Self(Fleet::own_redis().await)
    }

    /// The cache `row` with a ttl of 10 minutes, in its own process.
    pub(super) async fn rows(&self) -> Rows {
        self.rows_with(|builder| builder).await
    }

    /// The same with other settings.
    pub(super) async fn rows_with(
        &self,
        change: impl FnOnce(CacheBuilder<u64, String>) -> CacheBuilder<u64, String>,
    ) -> Rows {
        let builder = self.process().await.cache("row").ttl(Duration::from_secs(600)).ttl_jitter(0.0);
        // The machine of the tests may keep a server waiting for longer than a reader should wait.
        let builder = builder.store_timeout(Duration::from_secs(10));
        change(builder).open().await.unwrap()
    }

    /// Advances time in steps shorter than the pauses of a cache until `future` is ready.
    pub(super) async fn while_time_passes<F: Future>(&self, future: F) -> F::Output {
        self.while_time_passes_by(Duration::from_millis(20), future).await
    }

    /// Takes the entry of row `key` away, as an eviction does.
    pub(super) async fn evict(&self, key: u64) {
        match &self.store {
            Store::Memory(keel) => keel.entries().remove(&self.entry(key)),
            Store::Redis { .. } => self.send(redis::cmd("DEL").arg(self.entry(key))).await,
        }
    }

    /// Stores bytes under row `key` past all steps.
    pub(super) async fn put(&self, key: u64, bytes: &'static [u8]) {
        match &self.store {
            Store::Memory(keel) => keel.entries().put_raw(&self.entry(key), bytes.into()),
            Store::Redis { .. } => self.send(redis::cmd("SET").arg(self.entry(key)).arg(bytes)).await,
        }
    }

    /// Lets another program write under the key of row `key`: a command, and what follows the key. Redis only.
    pub(super) async fn trespass(&self, key: u64, command: &str, arguments: &[&str]) {
        self.evict(key).await;
        self.send(redis::cmd(command).arg(self.entry(key)).arg(arguments)).await;
    }

    /// Sends a command as an operator does. Redis only.
    pub(super) async fn operate(&self, words: &[&str]) {
        self.send(redis::cmd(words[0]).arg(&words[1..])).await;
    }

    async fn send(&self, cmd: &redis::Cmd) {
        self.command(b"", cmd).await;
    }

    /// The key of row `key` in the store.
    fn entry(&self, key: u64) -> Vec<u8> {
        let prefix = match &self.store {
            Store::Memory(_) => "evenkeel",
            Store::Redis { server, .. } => &server.prefix,
        };
        format!("{prefix}:c:row:{{{key}}}").into_bytes()
    }
}

/// One read of row 1, and what it found.
pub(super) async fn find(rows: &Rows, db: &Db) -> Result<Found<String>, CacheError> {
    find_as(rows, db, Freshness::Eventual).await
}

/// The same with another freshness.
pub(super) async fn find_as(rows: &Rows, db: &Db, freshness: Freshness) -> Result<Found<String>, CacheError> {
    rows.get_with(&1, freshness, |key| db.find(*key)).await
}

/// One read of row 1 that must succeed.
pub(super) async fn get(rows: &Rows, db: &Db) -> Option<String> {
    find(rows, db).await.unwrap().value.map(|row| String::clone(&row))
}

/// A reader of row 1 in its own task.
pub(super) fn reader(rows: &Rows, db: &Db) -> JoinHandle<Result<Option<Arc<String>>, CacheError>> {
    let (rows, db) = (rows.clone(), db.clone());
    tokio::spawn(async move { rows.get(&1, |key| db.find(*key)).await })
}

/// What a reader got, as text.
pub(super) async fn row(reader: JoinHandle<Result<Option<Arc<String>>, CacheError>>) -> Option<String> {
    reader.await.unwrap().unwrap().map(|row| String::clone(&row))
}

/// Text as a row.
pub(super) fn some(row: &str) -> Option<String> {
    Some(row.to_owned())
}

/// A command whose answer was lost.
pub(super) fn no_answer() -> CacheError {
    CacheError::Link(LinkError::NoAnswer { reason: "the test dropped it" })
}
