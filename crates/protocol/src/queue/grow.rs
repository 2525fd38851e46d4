//! Shard migration: the steps that move jobs when a topic gets more shards.
//!
//! A *closed* shard accepts no new item that belongs to another shard. Such items are *sent*: removed from every index and
//! numbered. Their new shard *receives* them, each number once and in order; after that the old shard drops them (`drop_received`). A process that
//! migrates may die at any point, and any number of processes may migrate at once: the numbers make every step idempotent.
//! docs/spec/queue.md is the specification.

use super::error::QueueError;
use super::job::JobId;
use super::steps::{Limits, QueueSteps, Shard};
use async_trait::async_trait;
use bytes::Bytes;

/// The maximum number of transfers per batch: their bodies are read whole.
pub const TRANSFERS_MAX: usize = 50;

/// The arguments of `close`.
#[derive(Clone, Copy, Debug)]
pub struct Close {
    /// The new number of shards of the topic.
    pub shards: u16,
    /// The previous number of shards.
    pub before: u16,
    /// For a new shard: the settings that it inherits from an old one. `None` for an old shard.
    pub inherits: Option<Inherited>,
}

/// The settings of a topic that each shard stores for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inherited {
    /// The end of a pause; 0: not paused.
    pub paused: u64,
    /// Its share of the topic's limits.
    pub limits: Limits,
    /// The minimum above which fencing tokens are issued.
    pub floor: u64,
}

/// An item that may belong to another shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A job that waits or is dead, or the completion record of one that ended.
    Job(JobId),
    /// The last tick of a schedule.
    Schedule([u8; 16]),
}

/// The result of `send_items`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// It does not exist here, or it belongs here.
    No,
    /// It was removed and waits for its new shard.
    Sent,
    /// It is leased; it can be sent after its delivery has ended.
    Leased,
}

/// An item in migration from one shard to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Numbers the items from one shard to another, from 1.
    pub sequence: u64,
    /// Its identity: kind (1), id (16), place (1), score (6).
    pub label: Bytes,
    /// The record or completion record; empty for a schedule, and for a completion record that has expired meanwhile.
    pub record: Bytes,
}

type Reply<T> = Result<T, QueueError>;

/// The steps of a shard migration.
#[async_trait]
pub trait GrowSteps: QueueSteps {
    /// Sets the topic's number of shards: after this the shard accepts no new item that belongs to another one. Returns what a
    /// new shard inherits. A repeat, or a number that is not higher, changes nothing.
    async fn close(&self, shard: &Shard, close: Close) -> Reply<Inherited>;
    /// Removes items that belong to other shards from this one.
    async fn send_items(&self, shard: &Shard, items: &[Item]) -> Reply<Vec<SendOutcome>>;
    /// The first items that were removed for shard `to`: records of at most 4 MiB in all, and one above 1 MiB alone.
    async fn leaving(&self, shard: &Shard, to: u16, limit: usize) -> Reply<Vec<Transfer>>;
    /// Adds the items of shard `from`, each once and in order; returns the last sequence number that was added.
    async fn receive(&self, shard: &Shard, from: u16, transfers: &[Transfer]) -> Reply<u64>;
    /// Drops the items that shard `to` has added; returns the number of those that remain.
    async fn drop_received(&self, shard: &Shard, to: u16, sequence: u64) -> Reply<u64>;
    /// Some ids with a record or a completion record in the shard, and the next cursor; 0 is the first and the last one.
    async fn ids(&self, shard: &Shard, cursor: u64) -> Reply<(Vec<JobId>, u64)>;
    /// The schedules whose last tick the shard has.
    async fn schedules(&self, shard: &Shard) -> Reply<Vec<[u8; 16]>>;
}

/// Moves the items that were sent from one shard to another, until none remains.
///
/// # Errors
/// [`QueueError::Link`]; a later call continues.
pub async fn carry(store: &dyn GrowSteps, from: &Shard, to: &Shard) -> Result<(), QueueError> {
    loop {
        let transfers = store.leaving(from, to.number(), TRANSFERS_MAX).await?;
        if transfers.is_empty() {
            return Ok(());
        }
        let taken = store.receive(to, from.number(), &transfers).await?;
        store.drop_received(from, to.number(), taken).await?;
    }
}
