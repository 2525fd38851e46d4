//! [`Attend`]: consumers of a group know of each other.

use crate::step::reply::bulk;
use crate::stream::partition::Name;
use crate::stream::steps::prelude::*;

/// Records for `lease_ms` that a consumer is alive, or with 0 that it leaves; returns the consumers of the group that are alive, at most
/// [`ITEMS_MAX`], in the order of their tokens. Only a hint for the distribution of partitions: leases decide who may read.
#[derive(Clone, Debug)]
pub struct Attend {
    /// The group.
    pub group: GroupName,
    /// The caller.
    pub consumer: Token,
    /// How long it counts without a further call.
    pub lease_ms: u64,
}

impl Step<Partition> for Attend {
    type Reply = Reply<Vec<Token>>;

    fn check(&self) -> Checked {
        check::span(self.lease_ms)
    }

    fn call(&self, _: &Partition) -> Call {
        let args = Args::of(&self.group).consumer(self.consumer).number(self.lease_ms).size(ITEMS_MAX);
        Call::function(&scripts::ATTEND, args)
    }

    fn reply(&self, value: Value) -> Replied<Reply<Vec<Token>>> {
        wire::coded(value, |mut parts| wire::each(parts.take()?, |name| wire::token(&bulk(name)?)))
    }

    fn apply(&self, state: &mut PartitionState, now: u64) -> Replied<Reply<Vec<Token>>> {
        let name = |consumer: Token| -> Name { format!("{consumer:?}").into() };
        state.on_group(&self.group, |group, _| {
            let lease_now = group.lease_clock(now);
            group.members.retain(|_, (_, ends)| *ends > lease_now);
            if self.lease_ms > 0 {
                group.members.insert(name(self.consumer), (self.consumer, lease_now + self.lease_ms));
            } else {
                group.members.remove(&name(self.consumer));
            }
            Reply::Done(group.members.values().map(|(consumer, _)| *consumer).take(ITEMS_MAX).collect())
        })
    }
}
