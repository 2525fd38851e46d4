//! [`QueueBackend`]: where the jobs are.

use super::error::QueueError;
use super::job::JobId;
use super::memory::Shards;
use super::senders::Senders;
use super::shard::ShardState;
use super::steps::{Found, PopMarker, ReadJobs, Shard};
use crate::step::{Backend, Place};

/// A store of jobs, which runs the steps. Cheap to clone.
pub type QueueBackend = Backend<Shard>;

impl Place for Shard {
    type State = ShardState;
    type States = Shards;
    type Error = QueueError;
    type Shared = Senders;

    const LARGE_ALONE: bool = true;

    fn key(&self) -> &[u8] {
        self.tag().as_bytes()
    }

    fn open<'a>(&self, shards: &'a mut Shards, now: u64) -> &'a mut ShardState {
        let state = shards.get(self, now);
        state.sweep(now);
        state
    }

    /// There are markers.
    fn wakes(state: &mut ShardState) -> bool {
        state.markers > 0
    }
}

impl QueueBackend {
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
        self.until(shard, &PopMarker, |is_found| is_found).await;
    }
}
