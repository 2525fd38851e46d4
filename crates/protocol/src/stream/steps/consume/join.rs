//! [`Join`] and [`Leave`]: a consumer becomes a reader, and returns what it has.

use crate::step::reply::unsigned;
use crate::stream::steps::Mode;
use crate::stream::steps::prelude::*;

/// The highest fencing token that a program may pass as already seen: it leaves room for higher ones.
const FLOOR_MAX: u64 = 1 << 52;

/// Joins a group; in [`Mode::Partition`] acquires the lease of the partition.
#[derive(Clone, Debug)]
pub struct Join {
    /// The group.
    pub group: GroupName,
    /// The caller: one incarnation of a consumer.
    pub consumer: Token,
    /// The duration of the lease.
    pub lease_ms: u64,
    /// New fencing tokens are above this one.
    pub fence_floor: u64,
}

/// A consumer of a group, and the tokens with which it proves that it is current.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reader {
    /// One incarnation of a consumer; never used again.
    pub consumer: Token,
    /// The fencing token of its partition lease; 0 in [`Mode::Entry`].
    pub fence: u64,
    /// The epoch of the group when it joined.
    pub epoch: u64,
}

/// The reply to a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// The consumer may read.
    Granted {
        /// With these tokens.
        reader: Reader,
        /// The remaining lease of the partition; 0 in [`Mode::Entry`].
        lease_left_ms: u64,
    },
    /// Another consumer has the lease of the partition.
    Taken {
        /// The time until it expires, unless it is renewed.
        free_in_ms: u64,
    },
}

impl Step<Partition> for Join {
    type Reply = Reply<Joined>;

    fn check(&self) -> Checked {
        check::lease(self.lease_ms)?;
        check::ensure(self.fence_floor <= FLOOR_MAX, "a fencing token above 2^52 leaves no room for higher ones")
    }

    fn call(&self, _: &Partition) -> Call {
        let args = Args::of(&self.group).consumer(self.consumer).number(self.lease_ms).number(self.fence_floor);
        Call::function(&scripts::JOIN, args)
    }

    fn reply(&self, value: Value) -> Replied<Reply<Joined>> {
        if let Value::Array(parts) = &value
            && let [Value::Int(5), free_in] = &parts[..]
        {
            return Ok(Reply::Done(Joined::Taken { free_in_ms: unsigned(free_in)? }));
        }
        wire::coded(value, |mut parts| {
            let [fence, epoch, lease_left_ms] = parts.numbers()?;
            Ok(Joined::Granted { reader: Reader { consumer: self.consumer, fence, epoch }, lease_left_ms })
        })
    }

    fn apply(&self, state: &mut PartitionState, now: u64) -> Replied<Reply<Joined>> {
        let Self { consumer, lease_ms, fence_floor, .. } = *self;
        let granted = |fence, epoch, lease_left_ms| {
            Reply::Done(Joined::Granted { reader: Reader { consumer, fence, epoch }, lease_left_ms })
        };
        state.on_group(&self.group, |group, _| {
            let lease_now = group.lease_clock(now);
            if group.mode == Mode::Entry {
                return granted(0, group.epoch, 0);
            }
            if let Some((owner, ends)) = group.owner
                && ends > lease_now
            {
                let left = ends - lease_now;
                if owner == consumer {
                    return granted(group.fence, group.epoch, left);
                }
                return Reply::Done(Joined::Taken { free_in_ms: left });
            }
            group.fence = (group.fence + 1).max(now * 1000).max(fence_floor + 1);
            group.owner = Some((consumer, lease_now + lease_ms));
            granted(group.fence, group.epoch, lease_ms)
        })
    }
}

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
