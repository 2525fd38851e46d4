//! [`Renew`], [`Release`] and [`Raise`]: what a holder of permits does.

use super::prelude::*;
use crate::lock::steps::{Released, Renewed};

/// Renews a lease from now, if `owner` still has it.
#[derive(Clone, Copy, Debug)]
pub struct Renew {
    /// The holder.
    pub owner: Token,
    /// The new duration of the lease.
    pub lease_ms: u64,
}

impl Step<Pool> for Renew {
    type Reply = Renewed;

    fn call(&self, _: &Pool) -> Call {
        Call::function(&scripts::RENEW, Args::default().bytes(self.owner.as_bytes()).number(self.lease_ms))
    }

    fn reply(&self, value: Value) -> Replied<Renewed> {
        let (verdict, lease_left_ms): (u8, u64) = typed(value)?;
        match verdict {
            0 => Ok(Renewed::Lost),
            1 => Ok(Renewed::Renewed { lease_left_ms }),
            2 => Ok(Renewed::Held { lease_left_ms }),
            _ => Err(unexpected("renew")),
        }
    }

    fn apply(&self, state: &mut State, now: u64) -> Replied<Renewed> {
        let Some(mut hold) = state.holds.get(&self.owner).and_then(|hold| hold.live(now)) else {
            return Ok(Renewed::Lost);
        };
        let mut ends = now + self.lease_ms;
        if let Some(limit) = hold.limit
            && guard("model_pool_max_hold")
        {
            ends = ends.min(limit);
        }
        if ends <= hold.ends {
            return Ok(Renewed::Held { lease_left_ms: hold.ends - now });
        }
        (hold.ends, hold.lease) = (ends, self.lease_ms);
        state.holds.insert(self.owner, hold);
        state.used(now);
        Ok(Renewed::Renewed { lease_left_ms: ends - now })
    }
}

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
        let held = state.holds(now).contains_key(&self.owner);
        let waited = state.places(now).contains_key(&self.owner);
        if !held && !waited {
            return Ok(Released::Nothing);
        }
        state.holds.remove(&self.owner);
        state.places.remove(&self.owner);
        state.used(now);
        let waiting = state.places(now).len() as u64;
        state.wakes = waiting > 0 && guard("model_pool_release_notifies");
        Ok(if held { Released::Released { others_waiting: waiting } } else { Released::Nothing })
    }
}

/// Raises the fencing token above the one stored in SQL, if `owner`, whose token is `mine`, still holds permits; `None` if not. If another
/// reader has already raised the shared token that high, that token is returned.
#[derive(Clone, Copy, Debug)]
pub struct Raise {
    /// The holder.
    pub owner: Token,
    /// Its token.
    pub mine: Fence,
    /// The token stored in SQL.
    pub seen: Fence,
}

impl Step<Pool> for Raise {
    type Reply = Option<Fence>;

    fn call(&self, _: &Pool) -> Call {
        let args = Args::default().bytes(self.owner.as_bytes()).shown(self.mine).shown(self.seen);
        Call::function(&scripts::RAISE, args)
    }

    fn reply(&self, value: Value) -> Replied<Option<Fence>> {
        let fence: u64 = typed(value)?;
        Ok((fence > 0).then_some(Fence(fence)))
    }

    fn apply(&self, state: &mut State, now: u64) -> Replied<Option<Fence>> {
        if !state.holds(now).contains_key(&self.owner) && guard("model_pool_raise_owner") {
            return Ok(None);
        }
        // Another reader has already raised the shared fencing token.
        let was_lifted = state.fence == self.seen.0 && self.mine < self.seen && guard("model_pool_raise_shared");
        if state.fence <= self.seen.0 && !was_lifted {
            state.fence = self.seen.0 + 1;
            state.used(now);
        }
        Ok(Some(Fence(state.fence)))
    }
}
