//! How jobs move when a topic is spread over more shards: the steps, and the way of a parcel from one shard to another.
//!
//! A shard that was *closed* takes in nothing that another one keeps. What it has of that kind is *given*: out of every index, and
//! numbered. Its new shard *adopts* it, each number once and in order; only then is it *gone* from the old one. Whoever walks this
//! way may die anywhere, and any number of processes may walk it at once: the numbers decide. docs/spec/queue.md has the whole.

use super::error::QueueError;
use super::job::JobId;
use super::steps::{Limits, QueueSteps, Shard};
use async_trait::async_trait;
use bytes::Bytes;

/// How many parcels are carried at once: their bodies are read whole.
pub const PARCELS_MAX: usize = 50;

/// What a shard learns when its topic grows.
#[derive(Clone, Copy, Debug)]
pub struct Close {
    /// Over how many shards the topic is spread from now on.
    pub shards: u16,
    /// Over how many it was.
    pub before: u16,
    /// For a shard that is new: what it takes over from an old one. `None`: it is one of the old ones.
    pub inherits: Option<Inherited>,
}

/// The settings of a topic that each shard has for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inherited {
    /// Until when nothing is claimed; 0: not paused.
    pub paused: u64,
    /// Its share of the topic's limits.
    pub limits: Limits,
    /// Fences rise above this.
    pub floor: u64,
}

/// Something a shard may have to give away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A job that waits or is dead, or the stamp of one that ended.
    Job(JobId),
    /// The last tick of a schedule.
    Schedule([u8; 16]),
}

/// What `give` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// It is not here, or it is kept here.
    No,
    /// It is on its way.
    Given,
    /// It is leased; once its delivery has ended it can be given.
    Leased,
}

/// Something on its way from one shard to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parcel {
    /// Counts what this shard gave to that one, from 1.
    pub sequence: u64,
    /// What it is: kind (1), id (16), place (1), score (6).
    pub label: Bytes,
    /// The record or the stamp; empty for a schedule, and where a stamp has run out on the way.
    pub record: Bytes,
}

type Reply<T> = Result<T, QueueError>;

/// The steps by which a topic grows.
#[async_trait]
pub trait GrowSteps: QueueSteps {
    /// Tells a shard over how many its topic is spread: from here on it takes in nothing that another one keeps. Answers what a
    /// new shard inherits. Repeated, or with no more shards than it knows of: nothing changes.
    async fn close(&self, shard: &Shard, close: Close) -> Reply<Inherited>;
    /// Takes items that other shards keep out of this one.
    async fn give(&self, shard: &Shard, items: &[Item]) -> Reply<Vec<Given>>;
    /// The first of what was taken out for shard `to`: records of at most 4 MiB in all, and one above 1 MiB alone.
    async fn leaving(&self, shard: &Shard, to: u16, limit: usize) -> Reply<Vec<Parcel>>;
    /// Takes in what shard `from` has given, each parcel once and in order; answers the last sequence that is in.
    async fn adopt(&self, shard: &Shard, from: u16, parcels: &[Parcel]) -> Reply<u64>;
    /// Drops what shard `to` has taken in by now; answers how much still waits for it.
    async fn gone(&self, shard: &Shard, to: u16, sequence: u64) -> Reply<u64>;
    /// Some ids of which the shard has a record or a stamp, and a cursor for more; 0 begins, and ends.
    async fn ids(&self, shard: &Shard, cursor: u64) -> Reply<(Vec<JobId>, u64)>;
    /// The schedules whose last tick the shard has.
    async fn schedules(&self, shard: &Shard) -> Reply<Vec<[u8; 16]>>;
}

/// Carries what one shard has given over to another, until nothing is on the way of what was when it began.
///
/// # Errors
/// [`QueueError::Link`]; whoever comes next goes on.
pub async fn carry(store: &dyn GrowSteps, from: &Shard, to: &Shard) -> Result<(), QueueError> {
    loop {
        let parcels = store.leaving(from, to.number(), PARCELS_MAX).await?;
        if parcels.is_empty() {
            return Ok(());
        }
        let taken = store.adopt(to, from.number(), &parcels).await?;
        store.gone(from, to.number(), taken).await?;
    }
}
