//! [`Purge`]: all jobs of a state are deleted.

use crate::queue::steps::prelude::*;

/// Deletes up to `limit` jobs of a state (not leased ones); returns the number of deleted jobs.
#[derive(Clone, Copy, Debug)]
pub struct Purge {
    /// The state.
    pub state: State,
    /// The maximum number of jobs.
    pub limit: usize,
}

impl Step<Shard> for Purge {
    type Reply = u64;

    fn check(&self) -> Checked {
        check::items(self.limit)?;
        let reason = "running jobs cannot be purged; pause the topic and wait until their leases end";
        check::ensure(self.state != State::Leased, reason)
    }

    fn call(&self, _: &Shard) -> Call {
        Call::function(&scripts::PURGE, Args::default().number(self.state.index().into()).size(self.limit))
    }

    fn reply(&self, value: Value) -> Replied<u64> {
        wire::count(&value)
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<u64> {
        let ids: Vec<JobId> = state.index(self.state).iter().take(self.limit).map(|(_, id)| *id).collect();
        let deleted = ids.iter().filter(|id| state.delete_one(now, **id)).count();
        Ok(u64::try_from(deleted).unwrap_or(0))
    }
}
