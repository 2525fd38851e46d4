//! [`Seek`]: a group is moved.

use crate::stream::steps::Position;
use crate::stream::steps::prelude::*;

/// Moves a group. Its pending entries are dropped and its epoch rises.
#[derive(Clone, Debug)]
pub struct Seek {
    /// The group.
    pub group: GroupName,
    /// Where it continues.
    pub to: Position,
}

impl Step<Partition> for Seek {
    type Reply = Reply<()>;

    fn call(&self, _: &Partition) -> Call {
        Call::function(&scripts::SEEK, Args::of(&self.group).position(self.to))
    }

    fn reply(&self, value: Value) -> Replied<Reply<()>> {
        wire::nothing(value)
    }

    fn apply(&self, state: &mut PartitionState, now: u64) -> Replied<Reply<()>> {
        state.on_group(&self.group, |group, log| {
            group.seek(now, log.position(self.to));
            Reply::Done(())
        })
    }
}

impl Group {
    fn seek(&mut self, now: u64, position: EntryId) {
        self.position = position;
        self.pending.clear();
        self.due.clear();
        self.leased.clear();
        self.tries.clear();
        self.consumers.clear();
        self.taken = 0;
        self.epoch = now.max(self.epoch + 1);
    }
}
