//! [`QueueBackend`]: where the jobs are.

use super::error::QueueError;
use super::job::JobId;
use super::memory::MemoryQueue;
use super::redis::RedisQueue;
use super::steps::{Found, ReadJobs, Shard, Step};
use evenkeel_link::Link;
use evenkeel_link::clock::Clock;

/// A store of jobs, which runs the steps. Cheap to clone.
#[derive(Clone)]
pub enum QueueBackend {
    /// On Redis.
    Redis(RedisQueue),
    /// In the memory of this process.
    Memory(MemoryQueue),
}

impl QueueBackend {
    /// The jobs on the Redis of this link.
    #[must_use]
    pub fn redis(link: Link) -> Self {
        Self::Redis(RedisQueue::new(link))
    }

    /// No jobs, in the memory of this process. The server's time is the clock's wall clock.
    #[must_use]
    pub fn memory(clock: Clock) -> Self {
        Self::Memory(MemoryQueue::new(clock))
    }

    /// Runs one step on one shard.
    ///
    /// # Errors
    /// [`QueueError::TooMany`], [`QueueError::Invalid`]: nothing was sent. [`QueueError::Link`]: Redis returned an error or did not reply.
    pub async fn run<S: Step>(&self, shard: &Shard, step: &S) -> Result<S::Reply, QueueError> {
        step.check()?;
        match self {
            Self::Redis(redis) => step.send(redis, shard).await,
            Self::Memory(memory) => memory.run(shard, step),
        }
    }

    /// Reads one job.
    ///
    /// # Errors
    /// As [`run`](Self::run); [`QueueError::Unreadable`].
    pub async fn job(&self, shard: &Shard, id: JobId) -> Result<Option<Found>, QueueError> {
        let looked = self.run(shard, &ReadJobs(vec![id])).await?.pop();
        Ok(looked.transpose()?.flatten())
    }

    /// Waits for a marker and consumes it. Only for embedded stores: on Redis one blocking command waits for all shards.
    pub async fn marker(&self, shard: &Shard) {
        match self {
            Self::Redis(_) => std::future::pending().await,
            Self::Memory(memory) => memory.marker(shard).await,
        }
    }

    /// The link, if the jobs are on Redis.
    #[must_use]
    pub fn link(&self) -> Option<&Link> {
        match self {
            Self::Redis(redis) => Some(redis.link()),
            Self::Memory(_) => None,
        }
    }

    /// Whether both have the same jobs.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Memory(here), Self::Memory(there)) => here.is_same(there),
            (Self::Redis(here), Self::Redis(there)) => here.link().has_store_of(there.link()),
            _ => false,
        }
    }
}
