//! Durations in the form that Redis expects.

use std::time::Duration;

/// A duration in whole milliseconds; `u64::MAX` for a longer one.
#[must_use]
pub fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
