//! Spans of time as Redis takes them.

use std::time::Duration;

/// A span in whole milliseconds; `u64::MAX` for one that is longer.
#[must_use]
pub fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
