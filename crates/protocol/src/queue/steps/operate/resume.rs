//! [`Resume`]: a pause is ended.

use crate::queue::steps::prelude::*;

/// Ends a pause.
#[derive(Clone, Copy, Debug)]
pub struct Resume;

impl Step<Shard> for Resume {
    type Reply = ();

    fn call(&self, _: &Shard) -> Call {
        Call::function(&scripts::RESUME, Args::default())
    }

    fn reply(&self, _: Value) -> Replied<()> {
        Ok(())
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<()> {
        state.paused_until = None;
        state.leave_markers(now, 0..state.due.len());
        state.markers = state.markers.max(u64::from(state.earliest().is_some()));
        Ok(())
    }
}
