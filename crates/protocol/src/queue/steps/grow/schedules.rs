//! [`ReadSchedules`]: the schedules of a shard.

use crate::queue::steps::prelude::*;

/// Reads the schedules whose last tick the shard has.
#[derive(Clone, Copy, Debug)]
pub struct ReadSchedules;

impl Step<Shard> for ReadSchedules {
    type Reply = Vec<[u8; 16]>;

    fn call(&self, shard: &Shard) -> Call {
        Call::command(redis::cmd("HKEYS").arg(shard.key("schedules")).take())
    }

    fn reply(&self, value: Value) -> Replied<Vec<[u8; 16]>> {
        array(value)?.into_iter().map(|name| Ok(wire::job_id(&bulk(name)?)?.0)).collect()
    }

    fn apply(&self, state: &mut ShardState, _: u64) -> Replied<Vec<[u8; 16]>> {
        Ok(state.schedules.keys().copied().collect())
    }
}
