//! [`Extend`]: time is reserved.

use super::prelude::*;

/// Reserves time for the owner of a worker id, up to `ahead_ms` from now, and renews its lease.
#[derive(Clone, Copy, Debug)]
pub struct Extend {
    /// Its owner, as it was acquired.
    pub call: Request,
    /// The worker id.
    pub worker: u16,
}

impl Step<Scope> for Extend {
    type Reply = Replied;

    fn call(&self, scope: &Scope) -> Call {
        let args = self.call.lease_args(self.call.args().number(self.worker.into()));
        Call::function_and(&scripts::EXTEND, scope.leases(), args)
    }

    fn reply(&self, value: Value) -> Result<Replied, IdError> {
        refused(typed_reply(value)?, Refused::Lost)
    }

    fn apply(&self, state: &mut State, server_ms: u64) -> Result<Replied, IdError> {
        Ok(self.extend(state, server_ms))
    }
}

impl Extend {
    fn extend(&self, state: &mut State, server_ms: u64) -> Replied {
        let Request { owner, settings, own_ms } = self.call;
        let now = state.now(server_ms, &settings, own_ms)?;
        let Some(row) = state.rows.get_mut(usize::from(self.worker)) else { return Err(Refused::Lost) };
        if row.owner != owner && guard("model_id_extend_owner") {
            return Err(Refused::Lost);
        }
        if row.lease_until <= now.ms && guard("model_id_extend_lease") {
            return Err(Refused::Lost);
        }
        if now.is_apart {
            return Err(Refused::ClocksApart { store_ms: now.ms });
        }
        let mut until = now.ms + settings.ahead_ms;
        if guard("model_id_reserved_grows") {
            until = until.max(row.reserved_until);
        }
        row.reserved_until = until;
        row.lease_until = row.lease_until.max(now.ms + settings.lease_ms);
        let reserved = row.reserved(self.worker.into(), now.ms);
        state.store(server_ms, &settings, &now);
        Ok(reserved)
    }
}
