//! [`Pause`]: deliveries are stopped.

use crate::stream::steps::prelude::*;

/// Delivers nothing until this time, or until resumed. A time that has passed resumes the group.
#[derive(Clone, Debug)]
pub struct Pause {
    /// The group.
    pub group: GroupName,
    /// `None`: until resumed.
    pub until: Option<u64>,
}

impl Step<Partition> for Pause {
    type Reply = Reply<()>;

    fn call(&self, _: &Partition) -> Call {
        let until = self.until.unwrap_or(FOREVER_MS).min(FOREVER_MS);
        Call::function(&scripts::PAUSE, Args::of(&self.group).number(until))
    }

    fn reply(&self, value: Value) -> Replied<Reply<()>> {
        wire::nothing(value)
    }

    fn apply(&self, state: &mut PartitionState, _: u64) -> Replied<Reply<()>> {
        state.on_group(&self.group, |group, _| {
            group.paused = self.until.filter(|until| *until < FOREVER_MS).unwrap_or(u64::MAX);
            Reply::Done(())
        })
    }
}
