//! [`Fallback`]: decides about calls while Redis is not available.

use super::decision::{Admitted, DecidedBy, Decision, Refused};
use super::settings::WithoutRedis;
use evenkeel_link::clock::Clock;
use evenkeel_protocol::limit::Subject;
use evenkeel_protocol::limit::error::LimitError;
use evenkeel_protocol::limit::steps::{Debit, Debited};
use evenkeel_protocol::step::{Memory, Step as _};
use std::time::Duration;

/// When a call that was refused without a bucket may be tried again: Redis may be back.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Decides while Redis is not available.
pub(super) enum Fallback {
    /// By the instance's share of the quotas, in the memory of this process.
    Local(Memory<Subject>),
    /// Admits.
    Open,
    /// Refuses.
    Closed,
}

impl Fallback {
    pub(super) fn new(choice: WithoutRedis, clock: &Clock) -> Self {
        match choice {
            WithoutRedis::Local => Self::Local(Memory::new(clock.clone())),
            WithoutRedis::Open => Self::Open,
            WithoutRedis::Closed => Self::Closed,
        }
    }

    /// What it does, for the log.
    pub(super) fn says(&self) -> &'static str {
        match self {
            Self::Local(_) => "this instance decides by its share of the quotas",
            Self::Open => "calls are admitted",
            Self::Closed => "calls are refused",
        }
    }

    /// Decides about a call of this first subject. `share` is its debit of the instance's share.
    pub(super) fn decide(
        &self,
        limit: &str,
        first: &str,
        share: impl FnOnce() -> Debit,
        decision: impl FnOnce(Debited) -> Decision,
    ) -> Result<Decision, LimitError> {
        let by = DecidedBy::Policy;
        let buckets = match self {
            Self::Local(buckets) => buckets,
            Self::Open => return Ok(Decision::Admitted(Admitted { remaining: None, waited: Duration::ZERO, by })),
            Self::Closed => return Ok(Decision::Refused(Refused { retry_after: RETRY_AFTER, level: None, by })),
        };
        let debit = share();
        // More tokens than the instance's share has at once.
        if debit.check().is_err() {
            let by = DecidedBy::Local;
            return Ok(Decision::Refused(Refused { retry_after: RETRY_AFTER, level: None, by }));
        }
        Ok(decision(buckets.run(&Subject::new("", limit, first), &debit)?))
    }
}
