//! [`State`] and [`Found`]: where a job is.

use crate::queue::job::{CompletionRecord, Job, Priority};
use crate::queue::record::Unreadable;
use crate::queue::wire::{Replied, unexpected};

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits, with this priority.
    Waiting(Priority),
    /// It runs, or its lease has expired.
    Leased,
    /// It is a dead letter.
    Dead,
}

impl State {
    /// The number of its index in the scripts.
    pub(crate) fn index(self) -> u8 {
        match self {
            Self::Waiting(priority) => priority as u8,
            Self::Leased => 4,
            Self::Dead => 5,
        }
    }

    pub(crate) fn of_index(index: i64) -> Replied<Self> {
        match index {
            0..=3 => Ok(Self::Waiting(Priority::ALL[usize::try_from(index).unwrap_or(0)])),
            4 => Ok(Self::Leased),
            5 => Ok(Self::Dead),
            _ => Err(unexpected("job")),
        }
    }
}

/// The stored state of one id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It has not ended.
    Live {
        /// Its state.
        state: State,
        /// Due time, deadline on the lease clock, or time of death.
        score: u64,
        /// The job.
        job: Box<Job>,
    },
    /// It has ended and has a completion record.
    Ended(CompletionRecord),
}

/// The result of `jobs` for one id.
pub type Looked = Result<Option<Found>, Unreadable>;
