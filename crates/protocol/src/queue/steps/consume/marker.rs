//! [`PopMarker`]: a wake-up marker is consumed.

use crate::queue::steps::prelude::*;

/// Consumes one marker, if there is one: the non-blocking form of a consumer's blocking command.
#[derive(Clone, Copy, Debug)]
pub struct PopMarker;

impl Step<Shard> for PopMarker {
    type Reply = bool;

    fn call(&self, shard: &Shard) -> Call {
        Call::command(redis::cmd("ZPOPMIN").arg(shard.key("wake")).take())
    }

    /// Whether `ZPOPMIN` returned an element.
    fn reply(&self, value: Value) -> Replied<bool> {
        Ok(!array(value)?.is_empty())
    }

    fn apply(&self, state: &mut ShardState, _: u64) -> Replied<bool> {
        let found = state.markers > 0;
        state.markers = state.markers.saturating_sub(1);
        Ok(found)
    }
}
