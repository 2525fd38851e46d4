//! [`Close`]: a shard that accepts no item of another one.

use crate::queue::steps::Limits;
use crate::queue::steps::prelude::*;
use crate::queue::wire::FOREVER;

/// Sets the topic's number of shards: after this the shard accepts no new item that belongs to another one. Returns what a
/// new shard inherits. A repeat, or a number that is not higher, changes nothing.
#[derive(Clone, Copy, Debug)]
pub struct Close {
    /// The new number of shards of the topic.
    pub shards: u16,
    /// The previous number of shards.
    pub before: u16,
    /// For a new shard: the settings that it inherits from an old one. `None` for an old shard.
    pub inherits: Option<Inherited>,
}

/// The settings of a topic that each shard stores for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inherited {
    /// The end of a pause; 0: not paused.
    pub paused: u64,
    /// Its share of the topic's limits.
    pub limits: Limits,
    /// The minimum above which fencing tokens are issued.
    pub floor: u64,
}

impl Step<Shard> for Close {
    type Reply = Inherited;

    fn call(&self, _: &Shard) -> Call {
        let args = Args::default().number(self.shards.into()).number(self.before.into());
        let number = |limit: Option<u64>| limit.unwrap_or(FOREVER).min(FOREVER);
        let args = match self.inherits {
            None => args,
            Some(Inherited { paused, limits, floor }) => args
                .number(paused.min(FOREVER))
                .number(number(limits.jobs_max))
                .number(number(limits.bytes_max))
                .number(floor),
        };
        Call::function(&scripts::CLOSE, args)
    }

    fn reply(&self, value: Value) -> Replied<Inherited> {
        let fields = array(value)?;
        let [paused, jobs_max, bytes_max, floor] = fields.as_slice() else { return Err(wire::unexpected("close")) };
        let limit = |value: &Value| Ok::<_, QueueError>(Some(unsigned(value)?).filter(|limit| *limit < FOREVER));
        Ok(Inherited {
            paused: wire::pause_end(unsigned(paused)?),
            limits: Limits { jobs_max: limit(jobs_max)?, bytes_max: limit(bytes_max)? },
            floor: unsigned(floor)?,
        })
    }

    fn apply(&self, state: &mut ShardState, _: u64) -> Replied<Inherited> {
        if state.shards.is_none_or(|shards| shards < self.shards) {
            state.shards = Some(self.shards);
            let share = |limit: u64| (limit * u64::from(self.before) / u64::from(self.shards)).max(1);
            match self.inherits {
                Some(inherited) => {
                    state.paused_until = match inherited.paused {
                        0 => None,
                        until => Some(until),
                    };
                    state.limits = inherited.limits;
                    state.fence_floor = inherited.floor;
                }
                None => {
                    state.limits.jobs_max = state.limits.jobs_max.map(share);
                    state.limits.bytes_max = state.limits.bytes_max.map(share);
                }
            }
        }
        Ok(Inherited { paused: state.paused_until.unwrap_or(0), limits: state.limits, floor: state.fence_floor })
    }
}
