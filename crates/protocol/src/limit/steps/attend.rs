//! [`Attend`]: an instance uses a limit.

use super::ATTENDS_MS;
use crate::limit::backend::{State, Subject, table};
use crate::limit::error::LimitError;
use crate::step::reply::typed;
use crate::step::{Args, Call, Step};
use evenkeel_link::Token;
use evenkeel_link::support::guard;
use redis::Value;

/// Notes that an instance uses the limit; returns how many have done so within a minute, itself included.
#[derive(Clone, Copy, Debug)]
pub struct Attend {
    /// The instance.
    pub instance: Token,
}

impl Step<Subject> for Attend {
    type Reply = u32;

    fn call(&self, _: &Subject) -> Call {
        Call::function(&table::ATTEND, Args::default().bytes(self.instance.as_bytes()).number(ATTENDS_MS))
    }

    fn reply(&self, value: Value) -> Result<u32, LimitError> {
        Ok(typed(value)?)
    }

    fn apply(&self, state: &mut State, now: u64) -> Result<u32, LimitError> {
        state.instances.insert(self.instance, now);
        if guard("model_limit_instances_end") {
            // A time from the future was written before the clock was set back.
            state.instances.retain(|_, at| *at <= now && now - *at <= ATTENDS_MS);
        }
        Ok(u32::try_from(state.instances.len()).unwrap_or(u32::MAX))
    }
}
