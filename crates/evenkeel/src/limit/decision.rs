//! [`Decision`]: what a caller of a limit gets.

use evenkeel_protocol::limit::steps::Debited;
use std::sync::Arc;
use std::time::Duration;

/// Whether a call may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a call that was refused must not go on"]
pub enum Decision {
    /// It may: its tokens were taken.
    Admitted(Admitted),
    /// It may not: no tokens were taken.
    Refused(Refused),
}

/// An admission.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Admitted {
    /// The fewest tokens that a level has left; of the instance's share, if the instance has decided. `None` if [`WithoutRedis::Open`] has.
    ///
    /// [`WithoutRedis::Open`]: super::WithoutRedis::Open
    pub remaining: Option<u64>,
    /// How long [`Limit::acquire`](super::Limit::acquire) has waited for the reserved place.
    pub waited: Duration,
    /// Who has decided.
    pub by: DecidedBy,
}

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// The time after which the same call would be admitted if no other call came first. Without Redis, a time after which Redis may be back.
    pub retry_after: Duration,
    /// The level that needs that time. `None` if [`WithoutRedis::Closed`](super::WithoutRedis::Closed) has decided.
    pub level: Option<Arc<str>>,
    /// Who has decided.
    pub by: DecidedBy,
}

/// Who has decided about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecidedBy {
    /// Redis, or the embedded store: the quotas hold over all instances.
    Store,
    /// This instance, by its share of the quotas, because Redis was not available.
    Local,
    /// The choice [`Open`](super::WithoutRedis::Open) or [`Closed`](super::WithoutRedis::Closed), because Redis was not available.
    Policy,
}

impl Decision {
    /// Whether the call may go on.
    #[must_use]
    pub fn is_admitted(&self) -> bool {
        matches!(self, Self::Admitted(_))
    }

    /// Who has decided.
    #[must_use]
    pub fn by(&self) -> DecidedBy {
        match self {
            Self::Admitted(admitted) => admitted.by,
            Self::Refused(refused) => refused.by,
        }
    }

    /// The decision that a debit has made. `level` names a level.
    pub(super) fn of(debited: Debited, by: DecidedBy, level: impl FnOnce(usize) -> Option<Arc<str>>) -> Self {
        match debited {
            Debited::Admitted { wait_ms, remaining } => {
                Self::Admitted(Admitted { remaining: Some(remaining), waited: Duration::from_millis(wait_ms), by })
            }
            Debited::Refused { retry_after_ms, level: place } => {
                Self::Refused(Refused { retry_after: Duration::from_millis(retry_after_ms), level: level(place), by })
            }
        }
    }
}

impl DecidedBy {
    /// The label of the metric.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Local => "local",
            Self::Policy => "policy",
        }
    }
}
