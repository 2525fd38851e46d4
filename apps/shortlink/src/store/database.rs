//! What each database does its own way.

use super::{Checkpoint, StoreError};
use crate::domain::{Code, Link, Page, PageRequest};
use std::ops::Range;

/// One database's own words. Every method is one statement (or two), so that the three files can be read side by side.
pub(super) trait Database: Send + Sync {
    type Transaction: Transaction;

    /// Begins a transaction that may write. Its reads see what is committed at the time of each statement, or (SQLite) nobody
    /// else writes meanwhile.
    async fn begin(&self) -> Result<Self::Transaction, StoreError>;

    /// [`StoreError::Duplicate`] if the code is taken.
    async fn insert(&self, link: &Link) -> Result<(), StoreError>;
    async fn find_many(&self, codes: &[Code]) -> Result<Vec<Link>, StoreError>;
    async fn delete(&self, code: &Code, expected: Option<i64>) -> Result<bool, StoreError>;
    async fn page(&self, request: &PageRequest) -> Result<Page, StoreError>;
    async fn rows_after(&self, after: i64, limit: u32) -> Result<Vec<(i64, Link)>, StoreError>;
    async fn ending_after(&self, now_ms: i64, after: i64, limit: u32) -> Result<Vec<(i64, Link)>, StoreError>;

    /// Takes `count` numbers of the sequence; nobody else gets them, whether they are used or not.
    async fn reserve(&self, count: u64) -> Result<Range<u64>, StoreError>;

    /// The setting's value; `value` is stored first if there was none.
    async fn setting_or_insert(&self, name: &str, value: &str) -> Result<String, StoreError>;

    async fn checkpoint(&self, source: &str) -> Result<Option<String>, StoreError>;
    async fn forget_checkpoint(&self, source: &str) -> Result<(), StoreError>;
    async fn ping(&self) -> Result<(), StoreError>;
    async fn close(&self);
}

/// A transaction; dropping it rolls it back.
pub(super) trait Transaction: Send {
    /// The link of `code`, which nobody else can change until the end of the transaction.
    async fn find_locked(&mut self, code: &Code) -> Result<Option<Link>, StoreError>;
    async fn update(&mut self, link: &Link) -> Result<(), StoreError>;

    /// Waits until no other import is in a transaction.
    async fn lock_imports(&mut self) -> Result<(), StoreError>;
    /// As [`Database::reserve`]; given back if the transaction is rolled back.
    async fn reserve(&mut self, count: u64) -> Result<Range<u64>, StoreError>;
    async fn find_many(&mut self, codes: &[Code]) -> Result<Vec<Link>, StoreError>;

    /// Those of `targets` that some link already has, once each.
    async fn known_targets(&mut self, targets: &[&str]) -> Result<Vec<String>, StoreError>;

    /// [`StoreError::Duplicate`] if a code is taken; the transaction is good for nothing then.
    async fn insert_many(&mut self, links: &[Link]) -> Result<(), StoreError>;
    async fn keep_checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), StoreError>;
    async fn commit(self) -> Result<(), StoreError>;
}
