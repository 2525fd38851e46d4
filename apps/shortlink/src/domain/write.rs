//! [`PendingWrite`]: a write that was acknowledged before it is in the database, and the decision how to apply it there.

use super::{Code, Link, LinkPatch, Target};
use jiff::Timestamp;
use std::fmt;

/// A write that was acknowledged before it is in the database (`--write-mode behind`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingWrite {
    /// The link's code.
    pub code: Code,
    /// The version that the write was accepted as. Of two writes of one link the newer version wins.
    pub version: i64,
    /// When it was accepted.
    pub at: Timestamp,
    /// The link's time of creation, if known: a different link may have the code by the time the write is applied.
    pub made_at: Option<Timestamp>,
    /// The operation.
    pub operation: Operation,
}

/// The operation of a pending write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Create a link.
    Create {
        /// The target.
        target: Target,
        /// Whether a user chose the code.
        alias: bool,
        /// The expiry.
        expires_at: Option<Timestamp>,
    },
    /// Change the link.
    Change {
        /// The change.
        patch: LinkPatch,
        /// Only if the link has this version.
        expected: Option<i64>,
    },
    /// Delete the link.
    Delete {
        /// Only if the link has this version.
        expected: Option<i64>,
    },
}

/// How a pending write is applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Insert this link.
    Insert(Link),
    /// Update the link.
    Update {
        /// The new values.
        link: Link,
        /// Whether the expiry changes.
        expiry_changed: bool,
    },
    /// Delete the link.
    Delete,
    /// Do nothing: the write was already applied, or has no effect.
    Nothing,
    /// Record a conflict: the write was accepted and cannot be applied.
    Conflict(Conflict),
}

/// Why an accepted write could not be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// Another link already had the code.
    Taken,
    /// The link does not exist.
    Missing,
    /// The link has another version than the write expects.
    Changed {
        /// The link's version.
        current: i64,
    },
    /// A newer write has changed the link.
    Overtaken {
        /// The link's version.
        current: i64,
    },
    /// The database rejects the values.
    Refused(String),
}

impl PendingWrite {
    /// Decides how to apply the write; `link` is the link that the database has under the code.
    ///
    /// Idempotent while the link exists: a write that was applied before is recognized by its version. The caller must not repeat a
    /// write after its link was deleted.
    #[must_use]
    pub fn decide(&self, link: Option<&Link>) -> Decision {
        match (&self.operation, link) {
            (Operation::Create { target, .. }, Some(link)) => {
                // Two instances may assign the same version, so the write is recognized by all of its values.
                let is_this = (link.version, link.created_at, &link.target) == (self.version, self.at, target);
                if is_this { Decision::Nothing } else { Decision::Conflict(Conflict::Taken) }
            }
            (Operation::Create { target, alias, expires_at }, None) => Decision::Insert(Link {
                code: self.code.clone(),
                target: target.clone(),
                alias: *alias,
                created_at: self.at,
                updated_at: self.at,
                expires_at: *expires_at,
                banned: false,
                version: self.version,
            }),
            (Operation::Change { .. }, None) => Decision::Conflict(Conflict::Missing),
            (Operation::Delete { .. }, None) => Decision::Nothing,
            (Operation::Change { patch, .. }, Some(link)) => self.overtaken(link).unwrap_or_else(|| Decision::Update {
                expiry_changed: patch.expires_at.is_some_and(|end| end != link.expires_at),
                link: patch.clone().apply(link.clone(), self.version, self.at),
            }),
            (Operation::Delete { .. }, Some(link)) => self.overtaken(link).unwrap_or(Decision::Delete),
        }
    }

    /// The decision for a write whose link is not the one it was accepted for; `None` if it is.
    fn overtaken(&self, link: &Link) -> Option<Decision> {
        if let Operation::Change { patch, .. } = &self.operation
            && link.version == self.version
            && patch.clone().apply(link.clone(), link.version, link.updated_at) == *link
        {
            return Some(Decision::Nothing);
        }
        let (Operation::Change { expected, .. } | Operation::Delete { expected }) = &self.operation else {
            return None;
        };
        let current = link.version;
        if self.made_at.is_some_and(|made_at| made_at != link.created_at) {
            let is_change = matches!(self.operation, Operation::Change { .. });
            return Some(if is_change { Decision::Conflict(Conflict::Missing) } else { Decision::Nothing });
        }
        if expected.is_some_and(|expected| expected != current) {
            return Some(Decision::Conflict(Conflict::Changed { current }));
        }
        (current >= self.version).then_some(Decision::Conflict(Conflict::Overtaken { current }))
    }
}

impl Conflict {
    /// The name of the conflict in the API.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Missing => "missing",
            Self::Changed { .. } => "changed",
            Self::Overtaken { .. } => "overtaken",
            Self::Refused(_) => "refused",
        }
    }
}

/// A sentence for the user.
impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken => f.write_str("Another link already had the code."),
            Self::Missing => f.write_str("The link no longer existed."),
            Self::Changed { current } => {
                write!(f, "The link's version was {current}, and the write expected another one.")
            }
            Self::Overtaken { current } => {
                write!(f, "A newer write had already changed the link to version {current}.")
            }
            Self::Refused(reason) => write!(f, "The database rejected the write: {reason}."),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn write(version: i64, operation: Operation) -> PendingWrite {
        PendingWrite { code: Code::alias("x").unwrap(), version, at: at(version), made_at: None, operation }
    }

    fn create(version: i64) -> PendingWrite {
        let target = Target::stored("https://example.com/".to_owned());
        write(version, Operation::Create { target, alias: true, expires_at: None })
    }

    fn ban(version: i64, expected: Option<i64>) -> PendingWrite {
        let patch = LinkPatch { banned: Some(true), ..LinkPatch::default() };
        write(version, Operation::Change { patch, expected })
    }

    fn link(version: i64) -> Link {
        let Decision::Insert(link) = create(version).decide(None) else { unreachable!() };
        link
    }

    // shows: S11
    #[test]
    fn newer_version_wins() {
        let Decision::Update { link: banned, expiry_changed } = ban(7, None).decide(Some(&link(5))) else {
            unreachable!()
        };
        assert_eq!((banned.banned, banned.version, banned.updated_at, expiry_changed), (true, 7, at(7), false));
        let overtaken = Decision::Conflict(Conflict::Overtaken { current: 9 });
        assert_eq!(ban(7, None).decide(Some(&link(9))), overtaken);
        assert_eq!(write(7, Operation::Delete { expected: None }).decide(Some(&link(9))), overtaken);
        // Two instances assigned the same version: the first to reach the database wins, the other is a conflict.
        assert_eq!(ban(9, None).decide(Some(&link(9))), overtaken);
        assert_eq!(write(9, Operation::Delete { expected: None }).decide(Some(&link(9))), overtaken);
        let theirs = Link { target: Target::stored("https://example.com/theirs".to_owned()), ..link(7) };
        assert_eq!(create(7).decide(Some(&theirs)), Decision::Conflict(Conflict::Taken));
        assert_eq!(write(7, Operation::Delete { expected: None }).decide(Some(&link(5))), Decision::Delete);
    }

    #[test]
    fn applied_write_is_not_applied_again() {
        assert_eq!(create(7).decide(Some(&link(7))), Decision::Nothing);
        let banned = Link { banned: true, ..link(7) };
        assert_eq!(ban(7, Some(5)).decide(Some(&banned)), Decision::Nothing);
        assert_eq!(write(7, Operation::Delete { expected: None }).decide(None), Decision::Nothing);
    }

    /// Regression: when the creation of a link had conflicted, a later edit of it was applied to the link that had the code.
    // shows: S11
    #[test]
    fn write_to_another_link_of_same_code_is_not_applied() {
        let meant = |write: PendingWrite| PendingWrite { made_at: Some(at(6)), ..write };
        assert_eq!(meant(ban(7, None)).decide(Some(&link(5))), Decision::Conflict(Conflict::Missing));
        assert_eq!(meant(write(7, Operation::Delete { expected: None })).decide(Some(&link(5))), Decision::Nothing);
        assert!(matches!(meant(ban(7, None)).decide(Some(&link(6))), Decision::Update { .. }));
    }

    #[test]
    fn inapplicable_write_is_a_conflict() {
        assert_eq!(create(7).decide(Some(&link(5))), Decision::Conflict(Conflict::Taken));
        assert_eq!(ban(7, None).decide(None), Decision::Conflict(Conflict::Missing));
        assert_eq!(ban(7, Some(4)).decide(Some(&link(5))), Decision::Conflict(Conflict::Changed { current: 5 }));
    }
}
