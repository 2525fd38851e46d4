//! [`When`]: due times.

use crate::past::in_seconds;
use crate::queue::check::{Checked, span};
use crate::queue::error::QueueError;

/// When a job is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At this time, in ms since 1970. A time in the past means now.
    At(u64),
    /// This many ms from now, on the server's clock.
    In(u64),
}

impl When {
    /// Checks a due time that a caller gives. Stored ones are not rejected.
    pub(crate) fn check_given(self) -> Checked {
        if let Self::At(ms) = self
            && let Some(reason) = in_seconds(ms)
        {
            return Err(QueueError::Invalid(reason));
        }
        self.check()
    }

    pub(crate) fn check(self) -> Checked {
        let (Self::At(ms) | Self::In(ms)) = self;
        span(ms)
    }

    /// The absolute due time.
    pub(crate) fn at(self, now: u64) -> u64 {
        match self {
            Self::At(at) => at,
            Self::In(delay) => now + delay,
        }
    }
}
