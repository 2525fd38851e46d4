//! [`Tick`]: the ticks of a schedule.

use super::NewJob;
use crate::queue::job::Job;
use crate::queue::steps::prelude::*;

/// Enqueues the next ticks of a schedule, unless another process has.
#[derive(Clone, Debug)]
pub struct Tick {
    /// The id of the schedule. All of its ticks are in its shard.
    pub schedule: [u8; 16],
    /// The last tick according to the caller; `None` for none.
    pub seen: Option<u64>,
    /// The last tick after this call.
    pub last: u64,
    /// The jobs of the ticks in between.
    pub jobs: Vec<NewJob>,
}

/// The result of a `tick`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ticked {
    /// The ticks were enqueued.
    Moved,
    /// The last tick differs from the one that the caller has seen (also the reply to a repeated call): nothing changed.
    Elsewhere(Option<u64>),
    /// The topic has grown, and the schedule belongs to another shard: nothing changed.
    OtherShard,
}

impl Step<Shard> for Tick {
    type Reply = Ticked;

    fn check(&self) -> Checked {
        check::items(self.jobs.len())?;
        check::span(self.last)?;
        self.jobs.iter().try_for_each(|job| {
            check::ensure(
                job.spec.version.is_none() && job.spec.unique.is_none(),
                "a tick cannot have a version or a unique key",
            )?;
            job.when.check()?;
            check::spec(&job.spec)
        })
    }

    fn call(&self, _: &Shard) -> Call {
        let args = Args::default().bytes(self.schedule);
        let args = match self.seen {
            Some(seen) => args.number(seen),
            None => args.bytes(""),
        };
        Call::function(&scripts::TICK, args.number(self.last).new_jobs(&self.jobs))
    }

    fn reply(&self, value: Value) -> Replied<Ticked> {
        match value {
            Value::Int(1) => Ok(Ticked::Moved),
            Value::Int(0) => Ok(Ticked::OtherShard),
            Value::Nil => Ok(Ticked::Elsewhere(None)),
            last => Ok(Ticked::Elsewhere(Some(unsigned(&last)?))),
        }
    }

    fn apply(&self, state: &mut ShardState, now: u64) -> Replied<Ticked> {
        let held = state.schedules.get(&self.schedule).copied();
        if held.is_none() && state.elsewhere(JobId(self.schedule)).is_some() {
            return Ok(Ticked::OtherShard);
        }
        if held != self.seen {
            return Ok(Ticked::Elsewhere(held));
        }
        for new in &self.jobs {
            if state.live(new.id).is_none() {
                let due = new.when.at(now);
                state.wait(new.id, Box::new(Job::accepted(new.spec.clone(), now, due)), due);
                state.totals.created += 1;
            }
        }
        state.schedules.insert(self.schedule, self.last);
        state.announce(now);
        Ok(Ticked::Moved)
    }
}
