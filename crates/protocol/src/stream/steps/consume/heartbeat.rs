//! [`Heartbeat`]: leases are extended.

use super::{Delivery, Reader, Verdict};
use crate::stream::steps::Mode;
use crate::stream::steps::prelude::*;

/// Extends the lease of the partition, or the leases of these deliveries; returns which of them are current.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    /// The group.
    pub group: GroupName,
    /// The caller.
    pub reader: Reader,
    /// The new duration of the leases from now.
    pub lease_ms: u64,
    /// The deliveries.
    pub deliveries: Vec<Running>,
}

/// One delivery in a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// The delivery.
    pub delivery: Delivery,
    /// Whether it runs alone in its process: if it ends without an outcome, that is its own crash. A later heartbeat with `false` takes
    /// this back.
    pub alone: bool,
}

impl Step<Partition> for Heartbeat {
    type Reply = Reply<Vec<bool>>;

    fn check(&self) -> Checked {
        check::lease(self.lease_ms)?;
        check::items(self.deliveries.len())
    }

    fn call(&self, _: &Partition) -> Call {
        let args = Args::of(&self.group).reader(self.reader).number(self.lease_ms);
        let alone = |running: &Running| if running.alone { "1" } else { "0" };
        let args =
            self.deliveries.iter().fold(args, |args, running| args.delivery(running.delivery).bytes(alone(running)));
        Call::function(&scripts::HEARTBEAT, args)
    }

    fn reply(&self, value: Value) -> Replied<Reply<Vec<bool>>> {
        wire::flags(value)
    }

    fn apply(&self, state: &mut PartitionState, now: u64) -> Replied<Reply<Vec<bool>>> {
        state.by_reader(&self.group, self.reader, |group, _, me| {
            let lease_now = group.lease_clock(now);
            let ends = lease_now + self.lease_ms;
            if group.mode == Mode::Partition
                && let Some((_, until)) = &mut group.owner
            {
                *until = ends.max(*until);
            }
            group.consumers.set(me, lease_now);
            let mut extend = |running: &Running| {
                let id = running.delivery.id;
                let is_current = group.state_of(running.delivery, me) == Verdict::Settled;
                if is_current && group.mode == Mode::Entry {
                    group.leased.set(&id, group.leased.get(&id).map_or(ends, |until| until.max(ends)));
                }
                if is_current && running.alone {
                    group.tries.entry(id).or_default().alone_at = running.delivery.count;
                } else if is_current
                    && let Some(tries) = group.tries.get_mut(&id)
                    && tries.alone_at == running.delivery.count
                {
                    tries.alone_at = 0;
                }
                is_current
            };
            Reply::Done(self.deliveries.iter().map(&mut extend).collect())
        })
    }
}
