//! [`Head`]: where a job is and in which version, without its body.

use super::job::End;
use super::steps::{Found, Looked, State};

/// Where a job is, without its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// It lives.
    Live {
        /// Where.
        state: State,
        /// Due time, deadline on the lease clock, or time of death.
        score: u64,
        /// The version of its latest `put`; 0 where there was none.
        version: u64,
        /// Whether a worker fell silent over it.
        lapsed: bool,
    },
    /// It ended, and that is still remembered.
    Ended {
        /// How.
        end: End,
        /// The version of its latest `put`; 0 where there was none.
        version: u64,
    },
    /// Its record was written by a program that this one does not understand.
    Unreadable,
}

impl Head {
    /// That of a job that was read whole.
    pub(crate) fn of(looked: Looked) -> Option<Self> {
        match looked {
            Ok(found) => found.map(|found| match found {
                Found::Live { state, score, job } => {
                    let lapsed = job.lapsed || state == State::Leased;
                    Self::Live { state, score, version: job.spec.version.unwrap_or(0), lapsed }
                }
                Found::Ended(stamp) => Self::Ended { end: stamp.end, version: stamp.version },
            }),
            Err(_) => Some(Self::Unreadable),
        }
    }
}
