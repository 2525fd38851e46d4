//! [`Leave`]: the lease of a partition is returned.

use super::Reader;
use crate::stream::steps::prelude::*;

/// Returns the lease of a partition.
#[derive(Clone, Debug)]
pub struct Leave {
    /// The group.
    pub group: GroupName,
    /// The caller.
    pub reader: Reader,
}

impl Step<Partition> for Leave {
    type Reply = Reply<()>;

    fn call(&self, _: &Partition) -> Call {
        Call::function(&scripts::LEAVE, Args::of(&self.group).reader(self.reader))
    }

    fn reply(&self, value: Value) -> Replied<Reply<()>> {
        wire::nothing(value)
    }

    fn apply(&self, state: &mut PartitionState, _: u64) -> Replied<Reply<()>> {
        state.by_reader(&self.group, self.reader, |group, _, _| {
            group.owner = None;
            Reply::Done(())
        })
    }
}
