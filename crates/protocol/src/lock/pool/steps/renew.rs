//! [`Renew`]: a lease is renewed.

use super::prelude::*;
use crate::lock::steps::Renewed;

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
        Ok(state.renew(now, self.owner, self.lease_ms))
    }
}

impl State {
    fn renew(&mut self, now: u64, owner: Token, lease_ms: u64) -> Renewed {
        let Some(mut hold) = self.holds.get(&owner).and_then(|hold| hold.live(now)) else { return Renewed::Lost };
        let mut ends = now + lease_ms;
        if let Some(limit) = hold.limit
            && guard("model_pool_max_hold")
        {
            ends = ends.min(limit);
        }
        if ends <= hold.ends {
            return Renewed::Held { lease_left_ms: hold.ends - now };
        }
        (hold.ends, hold.lease) = (ends, lease_ms);
        self.holds.insert(owner, hold);
        self.used(now);
        Renewed::Renewed { lease_left_ms: ends - now }
    }
}
