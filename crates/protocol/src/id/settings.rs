//! [`Settings`]: what all programs of a scope must agree on.

use super::error::IdError;
use super::layout::Layout;
use std::fmt;

/// Reserved time, margin and lease are at most a day.
const DAY_MS: u64 = 86_400_000;

/// What all programs of a scope must agree on, stored with its first worker id. With two values of `ahead_ms`, an allocator that has lost
/// commits would not know how far a lost range reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The layout of the ids.
    pub layout: Layout,
    /// How far ahead of the allocator's time an owner reserves.
    pub ahead_ms: u64,
    /// By how much the clock of an allocator that has lost commits may be behind.
    pub margin_ms: u64,
    /// How long a worker id is kept for an owner that does not extend.
    pub lease_ms: u64,
}

impl Settings {
    /// Rejects settings with which ids would stop between two extensions.
    ///
    /// # Errors
    /// [`IdError::Invalid`].
    pub fn check(&self) -> Result<(), IdError> {
        self.layout.check()?;
        let Self { layout, ahead_ms, margin_ms, lease_ms } = *self;
        let refuse = |what: String| Err(IdError::Invalid(what));
        if !(100..=DAY_MS).contains(&ahead_ms) || ahead_ms < layout.tick_ms.saturating_mul(2) {
            return refuse(format!(
                "{ahead_ms} ms reserved ahead; 100 ms to a day, and at least two ticks, are possible"
            ));
        }
        if margin_ms > DAY_MS {
            return refuse(format!("a margin of {margin_ms} ms; at most a day is possible"));
        }
        // An owner extends three times within `ahead_ms`, so it has several attempts before its lease is refused.
        let least = ahead_ms.saturating_add(margin_ms).saturating_add(1_000);
        if lease_ms < least || lease_ms > 3 * DAY_MS {
            return refuse(format!(
                "a lease of {lease_ms} ms; at least {least} ms (reserved time, margin and a second) and at most three days are possible"
            ));
        }
        Ok(())
    }
}

/// As they are stored.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { layout, ahead_ms, margin_ms, lease_ms } = self;
        write!(f, "{layout}; ahead {ahead_ms}, margin {margin_ms}, lease {lease_ms}")
    }
}
