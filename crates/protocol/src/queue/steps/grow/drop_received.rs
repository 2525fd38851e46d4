//! [`DropReceived`]: items that have arrived.

use crate::queue::steps::ITEMS_MAX;
use crate::queue::steps::prelude::*;

/// Drops the items that shard `to` has added; returns the number of those that remain.
#[derive(Clone, Copy, Debug)]
pub struct DropReceived {
    /// The number of their new shard.
    pub to: u16,
    /// The last sequence number that it has added.
    pub sequence: u64,
}

impl Step<Shard> for DropReceived {
    type Reply = u64;

    fn call(&self, _: &Shard) -> Call {
        let args = Args::default().number(self.to.into()).number(self.sequence).size(ITEMS_MAX);
        Call::function(&scripts::GONE, args)
    }

    fn reply(&self, value: Value) -> Replied<u64> {
        wire::count(&value)
    }

    fn apply(&self, state: &mut ShardState, _: u64) -> Replied<u64> {
        let leaving = state.leaving.entry(self.to).or_default();
        *leaving = leaving.split_off(&(self.sequence + 1));
        Ok(u64::try_from(leaving.len()).unwrap_or(u64::MAX))
    }
}
