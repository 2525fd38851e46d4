//! [`Pause`]: claims are stopped.

use crate::queue::steps::prelude::*;

/// Stops claims until the given time, or until resumed.
#[derive(Clone, Copy, Debug)]
pub struct Pause(pub Option<u64>);

impl Step<Shard> for Pause {
    type Reply = ();

    fn call(&self, shard: &Shard) -> Call {
        wire::set(shard, &[("paused", self.0)])
    }

    fn reply(&self, _: Value) -> Replied<()> {
        Ok(())
    }

    fn apply(&self, state: &mut ShardState, _: u64) -> Replied<()> {
        state.paused_until = Some(self.0.unwrap_or(u64::MAX));
        Ok(())
    }
}
