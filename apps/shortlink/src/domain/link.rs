//! [`Link`], and what makes and changes one.

use super::{Code, Target};
use jiff::Timestamp;

/// A link as the database has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// What it is reached by.
    pub code: Code,
    /// Target, byte for byte.
    pub target: Target,
    /// Whether somebody chose the code; `false` for a generated one.
    pub alias: bool,
    /// When it was made, to the millisecond, on the clock of the instance that made it.
    pub created_at: Timestamp,
    /// When it was last changed, likewise.
    pub updated_at: Timestamp,
    /// From this moment on it leads nowhere, to the millisecond; `None`: never.
    pub expires_at: Option<Timestamp>,
    /// Whether somebody has forbidden it: it leads nowhere until the ban is lifted.
    pub banned: bool,
    /// Grows with every change, also across a delete and a new link of the same code (as long as the instances' clocks agree
    /// to within the time between): microseconds since 1970, or one more than before, whichever is more. Below 2^53.
    pub version: i64,
}

impl Link {
    /// Whether the link leads nowhere any more at `now`.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// A link to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewLink {
    /// The code somebody chose; `None`: generate one.
    pub alias: Option<Code>,
    /// Where it shall lead.
    pub target: Target,
    /// When it shall end.
    pub expires_at: Option<Timestamp>,
}

/// A change of a link: what is `None` stays as it is. The code cannot change; make another link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkPatch {
    /// Where it shall lead from now on.
    pub target: Option<Target>,
    /// `Some(None)`: it shall not end.
    pub expires_at: Option<Option<Timestamp>>,
    /// Whether it shall be forbidden from now on.
    pub banned: Option<bool>,
}

impl LinkPatch {
    /// The link after this change, as version `version` made at `now`.
    #[must_use]
    pub fn apply(self, link: Link, version: i64, now: Timestamp) -> Link {
        Link {
            target: self.target.unwrap_or(link.target),
            expires_at: self.expires_at.unwrap_or(link.expires_at).map(whole_ms),
            banned: self.banned.unwrap_or(link.banned),
            version,
            updated_at: now,
            ..link
        }
    }
}

/// The version that follows `previous` at `now`; see [`Link::version`].
#[must_use]
pub fn version_after(previous: Option<i64>, now: Timestamp) -> i64 {
    previous.map_or(0, |version| version.saturating_add(1)).max(now.as_microsecond())
}

/// The moment as a database keeps it.
#[must_use]
pub fn whole_ms(time: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(time.as_millisecond()).unwrap_or(time)
}
