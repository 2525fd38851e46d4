//! What operators read and change.

use super::prelude::*;
use super::{check_size, token};
use crate::lock::pool::state::sort;
use bytes::Bytes;

/// Reads the state of a pool; `None` if it was not used for two days.
#[derive(Clone, Copy, Debug)]
pub struct Inspect;

/// Revokes the permits of this owner (`None`: of all holders); returns the former holders.
#[derive(Clone, Copy, Debug)]
pub struct BreakHolds(pub Option<Token>);

/// Changes the number of permits. Current holders keep theirs.
#[derive(Clone, Copy, Debug)]
pub struct Resize(pub u32);

/// A holder of permits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolHolder {
    /// The owner.
    pub owner: Token,
    /// The number of its permits.
    pub permits: u32,
    /// The remaining lease.
    pub lease_left_ms: u64,
    /// How long they have been held.
    pub held_ms: u64,
    /// The holder's metadata.
    pub metadata: Bytes,
}

/// The state of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolState {
    /// The number of its permits.
    pub permits_in_all: u32,
    /// The last fencing token that was issued; 0 in a semaphore.
    pub fence: Fence,
    /// The holders, in the order of their acquisitions.
    pub holders: Vec<PoolHolder>,
    /// The length of its queue.
    pub waiting: u64,
}

impl PoolState {
    /// Whether it has neither holders nor waiters.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.waiting == 0
    }
}

impl Step<Pool> for Inspect {
    type Reply = Option<PoolState>;

    fn call(&self, _: &Pool) -> Call {
        Call::function(&scripts::INSPECT, Args::default())
    }

    fn reply(&self, value: Value) -> Replied<Option<PoolState>> {
        type State = Option<(u32, u64, u64, Vec<Holder>)>;
        let found: State = typed(value)?;
        let Some((permits_in_all, fence, waiting, held)) = found else { return Ok(None) };
        Ok(Some(PoolState { permits_in_all, fence: Fence(fence), holders: holders(held)?, waiting }))
    }

    fn apply(&self, state: &mut State, now: u64) -> Replied<Option<PoolState>> {
        if state.permits == 0 {
            return Ok(None);
        }
        let holds = state.holds(now).into_iter();
        let mut holders: Vec<PoolHolder> = holds.map(|(owner, hold)| hold.shown(now, owner)).collect();
        sort(&mut holders);
        let (permits_in_all, fence, waiting) = (state.permits, Fence(state.fence), state.places(now).len() as u64);
        Ok(Some(PoolState { permits_in_all, fence, holders, waiting }))
    }
}

impl Step<Pool> for BreakHolds {
    type Reply = Vec<PoolHolder>;

    fn call(&self, pool: &Pool) -> Call {
        let args = match &self.0 {
            Some(owner) => Args::default().bytes(owner.as_bytes()),
            None => Args::default().bytes(""),
        };
        Call::function(&scripts::BREAK, args.bytes(pool.channel()))
    }

    fn reply(&self, value: Value) -> Replied<Vec<PoolHolder>> {
        holders(typed(value)?)
    }

    fn apply(&self, state: &mut State, now: u64) -> Replied<Vec<PoolHolder>> {
        let mut broken: Vec<PoolHolder> = Vec::new();
        for (holder, hold) in state.holds(now) {
            if self.0.is_none_or(|owner| owner == holder) || !guard("model_pool_break_owner") {
                state.holds.remove(&holder);
                broken.push(hold.shown(now, holder));
            }
        }
        sort(&mut broken);
        state.wakes = true;
        Ok(broken)
    }
}

impl Step<Pool> for Resize {
    type Reply = ();

    fn check(&self) -> Replied<()> {
        check_size(self.0)
    }

    fn call(&self, pool: &Pool) -> Call {
        Call::function(&scripts::RESIZE, Args::default().number(self.0.into()).bytes(pool.channel()))
    }

    fn reply(&self, _: Value) -> Replied<()> {
        Ok(())
    }

    fn apply(&self, state: &mut State, now: u64) -> Replied<()> {
        state.permits = self.0;
        state.used(now);
        state.wakes = true;
        Ok(())
    }
}

/// Owner, permits, lease left (ms), held for (ms), metadata.
type Holder = (Vec<u8>, u32, u64, u64, Vec<u8>);

fn holders(found: Vec<Holder>) -> Replied<Vec<PoolHolder>> {
    let holder = |(owner, permits, lease_left_ms, held_ms, metadata): Holder| {
        Ok(PoolHolder { owner: token(owner)?, permits, lease_left_ms, held_ms, metadata: metadata.into() })
    };
    let mut holders = found.into_iter().map(holder).collect::<Replied<Vec<_>>>()?;
    sort(&mut holders);
    Ok(holders)
}
