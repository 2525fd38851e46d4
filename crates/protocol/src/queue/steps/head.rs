//! [`Head`]: a job's state and version, without its body.

use super::{Found, Looked, State};
use crate::queue::job::End;

/// A job's state, without its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// It has not ended.
    Live {
        /// Its state.
        state: State,
        /// Due time, deadline on the lease clock, or time of death.
        score: u64,
        /// The version of its latest `put`; 0 without one.
        version: u64,
        /// Whether a lease of it has expired.
        lease_expired: bool,
    },
    /// It ended and has a completion record.
    Ended {
        /// How it ended.
        end: End,
        /// The version of its latest `put`; 0 without one.
        version: u64,
    },
    /// Its record was written in a format that this program does not support.
    Unreadable,
}

impl Head {
    /// The head of a job that was read whole.
    pub(crate) fn of(looked: Looked) -> Option<Self> {
        match looked {
            Ok(found) => found.map(|found| match found {
                Found::Live { state, score, job } => {
                    let lease_expired = job.lease_expired || state == State::Leased;
                    Self::Live { state, score, version: job.spec.version.unwrap_or(0), lease_expired }
                }
                Found::Ended(completion) => Self::Ended { end: completion.end, version: completion.version },
            }),
            Err(_) => Some(Self::Unreadable),
        }
    }
}
