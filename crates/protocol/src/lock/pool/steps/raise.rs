//! [`Raise`]: a fencing token is raised.

use super::prelude::*;

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
        Ok(state.raise(now, self.owner, self.mine, self.seen))
    }
}

impl State {
    fn raise(&mut self, now: u64, owner: Token, mine: Fence, seen: Fence) -> Option<Fence> {
        if !self.holds(now).contains_key(&owner) && guard("model_pool_raise_owner") {
            return None;
        }
        // Another reader has already raised the shared fencing token.
        let was_lifted = self.fence == seen.0 && mine < seen && guard("model_pool_raise_shared");
        if self.fence <= seen.0 && !was_lifted {
            self.fence = seen.0 + 1;
            self.used(now);
        }
        Some(Fence(self.fence))
    }
}
