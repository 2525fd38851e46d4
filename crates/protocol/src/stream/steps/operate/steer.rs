//! [`Pause`], [`Seek`] and [`Sweep`]: the state of a group is changed.

use crate::stream::partition::Name;
use crate::stream::steps::Position;
use crate::stream::steps::prelude::*;

/// The maximum number of consumers that one sweep removes.
const SWEEP_MAX: usize = 100;

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
            group.position = log.position(self.to);
            group.pending.clear();
            group.due.clear();
            group.leased.clear();
            group.tries.clear();
            group.consumers.clear();
            group.taken = 0;
            group.epoch = now.max(group.epoch + 1);
            Reply::Done(())
        })
    }
}

/// Removes up to 100 consumers that have been silent for this long and have no pending entry; returns their number.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The group.
    pub group: GroupName,
    /// In ms.
    pub silent_ms: u64,
}

impl Step<Partition> for Sweep {
    type Reply = Reply<u64>;

    fn check(&self) -> Checked {
        check::span(self.silent_ms)
    }

    fn call(&self, _: &Partition) -> Call {
        Call::function(&scripts::SWEEP, Args::of(&self.group).number(self.silent_ms))
    }

    fn reply(&self, value: Value) -> Replied<Reply<u64>> {
        wire::coded(value, |mut parts| parts.number())
    }

    fn apply(&self, state: &mut PartitionState, now: u64) -> Replied<Reply<u64>> {
        state.on_group(&self.group, |group, _| {
            let lease_now = group.lease_clock(now);
            let Some(before) = lease_now.checked_sub(self.silent_ms) else { return Reply::Done(0) };
            let silent = group.consumers.until(before, SWEEP_MAX);
            let is_idle = |name: &Name| group.pending.values().all(|held| held.owner != *name);
            let idle: Vec<Name> = silent.into_iter().filter(is_idle).collect();
            idle.iter().for_each(|name| group.consumers.remove(name));
            Reply::Done(idle.len() as u64)
        })
    }
}
