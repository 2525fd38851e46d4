//! [`Sweep`]: silent consumers are removed.

use crate::stream::partition::Name;
use crate::stream::steps::prelude::*;

/// The maximum number of consumers that one sweep removes.
const SWEEP_MAX: usize = 100;

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
        state.on_group(&self.group, |group, _| Reply::Done(group.sweep(now, self.silent_ms)))
    }
}

impl Group {
    fn sweep(&mut self, now: u64, silent_ms: u64) -> u64 {
        let lease_now = self.lease_clock(now);
        let Some(before) = lease_now.checked_sub(silent_ms) else { return 0 };
        let silent = self.consumers.until(before, SWEEP_MAX);
        let is_idle = |name: &Name| self.pending.values().all(|held| held.owner != *name);
        let idle: Vec<Name> = silent.into_iter().filter(is_idle).collect();
        idle.iter().for_each(|name| self.consumers.remove(name));
        idle.len() as u64
    }
}
