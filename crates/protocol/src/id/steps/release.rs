//! [`Release`]: a worker id is released.

use super::prelude::*;

/// Ends the lease of a worker id. Its reserved time stays reserved, and its owner extends no more.
#[derive(Clone, Copy, Debug)]
pub struct Release {
    /// Its owner, as it was acquired.
    pub call: Request,
    /// The worker id.
    pub worker: u16,
}

impl Step<Scope> for Release {
    type Reply = Replied;

    fn call(&self, scope: &Scope) -> Call {
        Call::function_and(&scripts::RELEASE, scope.leases(), self.call.args().number(self.worker.into()))
    }

    fn reply(&self, value: Value) -> Result<Replied, IdError> {
        refused(typed_reply(value)?, Refused::Lost)
    }

    fn apply(&self, state: &mut State, server_ms: u64) -> Result<Replied, IdError> {
        Ok(self.release(state, server_ms))
    }
}

impl Release {
    fn release(&self, state: &mut State, server_ms: u64) -> Replied {
        let Request { owner, settings, own_ms } = self.call;
        let now = state.now(server_ms, &settings, own_ms)?;
        let row = state.rows.get_mut(usize::from(self.worker));
        let Some(row) = row.filter(|row| row.owner == owner && row.lease_until > now.ms) else {
            return Err(Refused::Lost);
        };
        if guard("model_id_release_ends_lease") {
            row.lease_until = now.ms;
        }
        let reserved = row.reserved(self.worker.into(), now.ms);
        state.store(server_ms, &settings, &now);
        Ok(reserved)
    }
}
