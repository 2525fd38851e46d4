//! [`SetLimits`]: the limits of a shard.

use crate::queue::steps::prelude::*;

/// Sets the shard's limits.
#[derive(Clone, Copy, Debug)]
pub struct SetLimits(pub Limits);

/// The limits of a shard. Dead letters count as bytes, not as jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Waiting and leased jobs.
    pub jobs_max: Option<u64>,
    /// Bytes of all records.
    pub bytes_max: Option<u64>,
}

impl Step<Shard> for SetLimits {
    type Reply = ();

    fn call(&self, shard: &Shard) -> Call {
        wire::set(shard, &[("jobs_max", self.0.jobs_max), ("bytes_max", self.0.bytes_max)])
    }

    fn reply(&self, _: Value) -> Replied<()> {
        Ok(())
    }

    fn apply(&self, state: &mut ShardState, _: u64) -> Replied<()> {
        state.limits = self.0;
        Ok(())
    }
}
