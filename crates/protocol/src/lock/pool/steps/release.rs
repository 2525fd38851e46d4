//! [`Release`]: permits are released.

use super::prelude::*;
use crate::lock::steps::Released;

/// Releases the permits of `owner` and its place in the queue.
#[derive(Clone, Copy, Debug)]
pub struct Release {
    /// The holder.
    pub owner: Token,
}

impl Step<Pool> for Release {
    type Reply = Released;

    fn call(&self, pool: &Pool) -> Call {
        Call::function(&scripts::RELEASE, Args::default().bytes(self.owner.as_bytes()).bytes(pool.channel()))
    }

    fn reply(&self, value: Value) -> Replied<Released> {
        let (verdict, others_waiting): (i8, u64) = typed(value)?;
        match verdict {
            1 => Ok(Released::Released { others_waiting }),
            -1 => Ok(Released::Nothing),
            _ => Err(unexpected("release")),
        }
    }

    fn apply(&self, state: &mut State, now: u64) -> Replied<Released> {
        let (released, waiting) = state.release(now, self.owner);
        state.wakes = waiting > 0 && guard("model_pool_release_notifies");
        Ok(released)
    }
}

impl State {
    /// The reply, and the number of waiters to be notified.
    fn release(&mut self, now: u64, owner: Token) -> (Released, u64) {
        let held = self.holds(now).contains_key(&owner);
        let waited = self.places(now).contains_key(&owner);
        if !held && !waited {
            return (Released::Nothing, 0);
        }
        self.holds.remove(&owner);
        self.places.remove(&owner);
        self.used(now);
        let waiting = self.places(now).len() as u64;
        let released = if held { Released::Released { others_waiting: waiting } } else { Released::Nothing };
        (released, waiting)
    }
}
