//! [`Debit`]: takes tokens of every level, or of none.

use crate::limit::backend::{State, Stored, Subject, table};
use crate::limit::bucket::{Debited, debit};
use crate::limit::error::LimitError;
use crate::limit::name::suffix;
use crate::limit::quota::{LEVELS_MAX, Quota, WAIT_MS_MAX};
use crate::step::reply::typed;
use crate::step::{Args, Call, Step};
use evenkeel_link::LinkError;
use redis::Value;

/// Takes tokens of every level at the first time at which all of them are available, if that is soon enough; otherwise of none.
///
/// It is not idempotent: a repeated debit takes the tokens again.
#[derive(Clone, Debug)]
pub struct Debit {
    /// How many tokens.
    pub tokens: u32,
    /// The longest wait that is accepted.
    pub wait_ms_max: u64,
    /// The levels, from the first to the last.
    pub levels: Vec<Level>,
}

/// One level of a call: its bucket and its quota.
#[derive(Clone, Debug)]
pub struct Level {
    suffix: String,
    quota: Quota,
}

impl Level {
    /// The level of this name; `further` are the subjects after the first, up to the level's own.
    #[must_use]
    pub fn new(name: &str, quota: Quota, further: &[&str]) -> Self {
        Self { suffix: suffix(name, &quota, further), quota }
    }
}

impl Step<Subject> for Debit {
    type Reply = Debited;

    fn check(&self) -> Result<(), LimitError> {
        let refuse = |reason: String| Err(LimitError::Invalid(reason));
        if self.levels.is_empty() || self.levels.len() > LEVELS_MAX {
            return refuse(format!("a limit has 1 to {LEVELS_MAX} levels, not {}", self.levels.len()));
        }
        if self.wait_ms_max > WAIT_MS_MAX {
            return refuse(format!("a call waits for at most an hour, not for {} ms", self.wait_ms_max));
        }
        let most = self.levels.iter().map(|level| level.quota.tokens_at_once()).min().unwrap_or(0);
        match self.tokens {
            0 => refuse("a call of no token; it needs at least one".to_owned()),
            tokens if tokens > most => {
                refuse(format!("a call of {tokens} tokens is never admitted: a level has at most {most} at once"))
            }
            _ => Ok(()),
        }
    }

    fn call(&self, _: &Subject) -> Call {
        let args = Args::default().number(self.tokens.into()).number(self.wait_ms_max);
        let args = self.levels.iter().fold(args, |args, level| {
            let args = args.bytes(&level.suffix);
            match level.quota {
                Quota::Rate(rate) => {
                    let units = rate.units();
                    args.bytes("r").number(units.refill).number(units.token).number(units.burst_units())
                }
                Quota::Window(window) => {
                    args.bytes("w").number(window.tokens().into()).number(window.slot_ms()).number(0)
                }
            }
        });
        Call::function(&table::DEBIT, args)
    }

    fn reply(&self, value: Value) -> Result<Debited, LimitError> {
        let (is_admitted, wait_ms, number): (u8, u64, u64) = typed(value)?;
        if is_admitted == 1 {
            return Ok(Debited::Admitted { wait_ms, remaining: number });
        }
        let level = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let level = level.filter(|level| *level < self.levels.len());
        let unexpected = || LinkError::Unexpected(format!("level {number} in the reply of a debit"));
        Ok(Debited::Refused { retry_after_ms: wait_ms, level: level.ok_or_else(unexpected)? })
    }

    fn apply(&self, state: &mut State, now: u64) -> Result<Debited, LimitError> {
        let quotas: Vec<Quota> = self.levels.iter().map(|level| level.quota).collect();
        let stored = |level: &Level| state.buckets.get(&level.suffix).map(|stored| stored.bucket.clone());
        let buckets = self.levels.iter().map(stored).collect();
        let (debited, changed) = debit(&quotas, buckets, self.tokens, self.wait_ms_max, now);
        for (place, bucket) in changed {
            let expires_ms = bucket.expires_ms(&quotas[place], now);
            state.buckets.insert(self.levels[place].suffix.clone(), Stored { bucket, expires_ms });
        }
        Ok(debited)
    }
}
