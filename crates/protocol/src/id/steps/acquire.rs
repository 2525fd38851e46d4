//! [`Acquire`]: a worker id is leased.

use super::prelude::*;

/// Leases a worker id: the one whose lease is over for the longest time, or a new one.
#[derive(Clone, Copy, Debug)]
pub struct Acquire(pub Request);

impl Step<Scope> for Acquire {
    type Reply = Replied;

    fn check(&self) -> Result<(), IdError> {
        self.0.settings.check()
    }

    fn call(&self, scope: &Scope) -> Call {
        let args = self.0.lease_args(self.0.args().number(self.0.settings.layout.workers().into()));
        Call::function_and(&scripts::ACQUIRE, scope.leases(), args.number(self.0.settings.margin_ms))
    }

    fn reply(&self, value: Value) -> Result<Replied, IdError> {
        let parts = typed_reply(value)?;
        let free_in_ms = parts.1;
        refused(parts, Refused::Taken { free_in_ms })
    }

    fn apply(&self, state: &mut State, server_ms: u64) -> Result<Replied, IdError> {
        Ok(self.lease(state, server_ms))
    }
}

impl Acquire {
    fn lease(&self, state: &mut State, server_ms: u64) -> Replied {
        let Request { owner, settings, own_ms } = self.0;
        let now = state.now(server_ms, &settings, own_ms)?;
        let mine = state.rows.iter().position(|row| row.owner == owner && row.lease_until > now.ms);
        if let Some(worker) = mine.filter(|_| guard("model_id_acquire_repeat")) {
            return Ok(state.rows[worker].reserved(worker, now.ms));
        }
        if now.is_apart {
            return Err(Refused::ClocksApart { store_ms: now.ms });
        }
        let first = state.rows.iter().enumerate().min_by_key(|(worker, row)| (row.lease_until, *worker));
        let worker = match first {
            Some((worker, row)) if row.lease_until <= now.ms => worker,
            Some((_, row))
                if state.rows.len() >= settings.layout.workers() as usize && guard("model_id_workers_bound") =>
            {
                return Err(Refused::Taken { free_in_ms: row.lease_until - now.ms });
            }
            _ => state.rows.len(),
        };
        let mut from = state.rows.get(worker).map_or(now.ms, |row| row.reserved_until.max(now.ms));
        if guard("model_id_above_forgotten") {
            from = from.max(now.ms + settings.ahead_ms + settings.margin_ms);
        }
        let lease_until = now.ms + settings.lease_ms;
        let row = Row { owner, lease_until, reserved_from: from, reserved_until: from };
        let reserved = row.reserved(worker, now.ms);
        match state.rows.get_mut(worker) {
            Some(old) => *old = row,
            None => state.rows.push(row),
        }
        state.store(server_ms, &settings, &now);
        Ok(reserved)
    }
}

impl Row {
    pub(super) fn reserved(&self, worker: usize, now_ms: u64) -> Reserved {
        let worker = u16::try_from(worker).unwrap_or(u16::MAX);
        Reserved { worker, from_ms: self.reserved_from, until_ms: self.reserved_until, now_ms }
    }
}
