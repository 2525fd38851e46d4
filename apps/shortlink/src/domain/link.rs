//! [`Link`], and the creation and change of one.

use super::{Code, Target};
use jiff::Timestamp;

/// A stored link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The code.
    pub code: Code,
    /// Target, byte for byte.
    pub target: Target,
    /// Whether a user chose the code; `false` for a generated one.
    pub alias: bool,
    /// Time of creation in whole milliseconds, on the clock of the instance that created it.
    pub created_at: Timestamp,
    /// Time of the last change, likewise.
    pub updated_at: Timestamp,
    /// From this time on the link does not redirect, in whole milliseconds; `None`: never expires.
    pub expires_at: Option<Timestamp>,
    /// Whether the link is banned: it does not redirect until the ban is lifted.
    pub banned: bool,
    /// Increases with every change, also across a delete and a new link of the same code (as long as the instances' clocks differ by
    /// less than the time between): microseconds since 1970, or the previous version plus one, whichever is larger. Below 2^53.
    pub version: i64,
}

impl Link {
    /// Whether the link has expired at `now`.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// A link to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewLink {
    /// The requested code; `None` generates one.
    pub alias: Option<Code>,
    /// The target.
    pub target: Target,
    /// The expiry.
    pub expires_at: Option<Timestamp>,
}

/// A change of a link; a `None` field keeps its value. The code cannot change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkPatch {
    /// The new target.
    pub target: Option<Target>,
    /// The new expiry; `Some(None)` removes it.
    pub expires_at: Option<Option<Timestamp>>,
    /// Whether the link is banned.
    pub banned: Option<bool>,
}

impl LinkPatch {
    /// The link after this change, made at `now` as version `version`.
    #[must_use]
    pub fn apply(self, link: Link, version: i64, now: Timestamp) -> Link {
        Link {
            target: self.target.unwrap_or(link.target),
            expires_at: self.expires_at.unwrap_or(link.expires_at).map(truncate_to_ms),
            banned: self.banned.unwrap_or(link.banned),
            version,
            updated_at: now,
            ..link
        }
    }
}

/// The next version after `previous` at `now`; see [`Link::version`].
#[must_use]
pub fn next_version(previous: Option<i64>, now: Timestamp) -> i64 {
    previous.map_or(0, |version| version.saturating_add(1)).max(now.as_microsecond())
}

/// Truncates to whole milliseconds, the precision of the databases.
#[must_use]
pub fn truncate_to_ms(time: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(time.as_millisecond()).unwrap_or(time)
}
