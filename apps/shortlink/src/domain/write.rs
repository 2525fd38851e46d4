//! [`NotedWrite`]: a write that was accepted before the database heard of it, and how it is settled there.

use super::{Code, Link, LinkPatch, Target};
use jiff::Timestamp;
use std::fmt;

/// A write that was accepted before the database heard of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotedWrite {
    /// Which link it is about.
    pub code: Code,
    /// The version that its acceptance gave it. Of two writes of one link the newer version wins.
    pub version: i64,
    /// When it was accepted.
    pub at: Timestamp,
    /// When the link that is meant was made, if that was known: another one may have its code by the time.
    pub made_at: Option<Timestamp>,
    /// What is to be done.
    pub wanted: Wanted,
}

/// What a noted write wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A new link.
    Create {
        /// Where it leads.
        target: Target,
        /// Whether somebody chose its code.
        alias: bool,
        /// When it ends.
        expires_at: Option<Timestamp>,
    },
    /// A change of the link.
    Change {
        /// What changes.
        patch: LinkPatch,
        /// Only if the link has this version.
        expected: Option<i64>,
    },
    /// Its deletion.
    Delete {
        /// Only if the link has this version.
        expected: Option<i64>,
    },
}

/// What the database is to do for a noted write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Insert this link.
    Insert(Link),
    /// Give the link these values.
    Update {
        /// What it is from now on.
        link: Link,
        /// Whether its end is another one.
        end_moved: bool,
    },
    /// Delete the link.
    Delete,
    /// Nothing: what was wanted is so already.
    Nothing,
    /// Nothing, and somebody must be told: the write was accepted and cannot be done.
    Conflict(Conflict),
}

/// Why a write that was accepted could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// Somebody else's link got the code first.
    Taken,
    /// There is no such link (any more).
    Missing,
    /// It was to be done to another version than the link has.
    Changed {
        /// The version that the link has.
        current: i64,
    },
    /// The link has been changed by a newer write.
    Overtaken {
        /// The version that the link has.
        current: i64,
    },
    /// The database refuses it, whoever asks.
    Refused(String),
}

impl NotedWrite {
    /// What is to be done, `link` being what the database has under the code.
    ///
    /// A write that was done before is recognised by its version and done no second time, as long as the link is there; that it
    /// is not repeated after a deletion is for whoever keeps the writes.
    #[must_use]
    pub fn settle(&self, link: Option<&Link>) -> Verdict {
        match (&self.wanted, link) {
            (Wanted::Create { target, .. }, Some(link)) => {
                // Two instances may give the same version: only what is the same to the letter is this very write.
                let is_this = (link.version, link.created_at, &link.target) == (self.version, self.at, target);
                if is_this { Verdict::Nothing } else { Verdict::Conflict(Conflict::Taken) }
            }
            (Wanted::Create { target, alias, expires_at }, None) => Verdict::Insert(Link {
                code: self.code.clone(),
                target: target.clone(),
                alias: *alias,
                created_at: self.at,
                updated_at: self.at,
                expires_at: *expires_at,
                banned: false,
                version: self.version,
            }),
            (Wanted::Change { .. }, None) => Verdict::Conflict(Conflict::Missing),
            (Wanted::Delete { .. }, None) => Verdict::Nothing,
            (Wanted::Change { patch, .. }, Some(link)) => self.overtaken(link).unwrap_or_else(|| Verdict::Update {
                end_moved: patch.expires_at.is_some_and(|end| end != link.expires_at),
                link: patch.clone().apply(link.clone(), self.version, self.at),
            }),
            (Wanted::Delete { .. }, Some(link)) => self.overtaken(link).unwrap_or(Verdict::Delete),
        }
    }

    /// Whether the link is not what the write was meant for.
    fn overtaken(&self, link: &Link) -> Option<Verdict> {
        if let Wanted::Change { patch, .. } = &self.wanted
            && link.version == self.version
            && patch.clone().apply(link.clone(), link.version, link.updated_at) == *link
        {
            return Some(Verdict::Nothing);
        }
        let (Wanted::Change { expected, .. } | Wanted::Delete { expected }) = &self.wanted else { return None };
        let current = link.version;
        if self.made_at.is_some_and(|made_at| made_at != link.created_at) {
            let is_change = matches!(self.wanted, Wanted::Change { .. });
            return Some(if is_change { Verdict::Conflict(Conflict::Missing) } else { Verdict::Nothing });
        }
        if expected.is_some_and(|expected| expected != current) {
            return Some(Verdict::Conflict(Conflict::Changed { current }));
        }
        (current >= self.version).then_some(Verdict::Conflict(Conflict::Overtaken { current }))
    }
}

impl Conflict {
    /// One word for it.
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

/// A whole sentence.
impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken => f.write_str("Another link had got the code first."),
            Self::Missing => f.write_str("There was no such link any more."),
            Self::Changed { current } => {
                write!(f, "The link was not the one it was meant for any more: it had version {current}.")
            }
            Self::Overtaken { current } => write!(f, "A newer write had changed the link: it had version {current}."),
            Self::Refused(reason) => write!(f, "The database refused it: {reason}."),
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

    fn write(version: i64, wanted: Wanted) -> NotedWrite {
        NotedWrite { code: Code::alias("x").unwrap(), version, at: at(version), made_at: None, wanted }
    }

    fn create(version: i64) -> NotedWrite {
        let target = Target::stored("https://example.com/".to_owned());
        write(version, Wanted::Create { target, alias: true, expires_at: None })
    }

    fn ban(version: i64, expected: Option<i64>) -> NotedWrite {
        let patch = LinkPatch { banned: Some(true), ..LinkPatch::default() };
        write(version, Wanted::Change { patch, expected })
    }

    fn link(version: i64) -> Link {
        let Verdict::Insert(link) = create(version).settle(None) else { unreachable!() };
        link
    }

    #[test]
    fn the_newer_version_wins() {
        let Verdict::Update { link: banned, end_moved } = ban(7, None).settle(Some(&link(5))) else { unreachable!() };
        assert_eq!((banned.banned, banned.version, banned.updated_at, end_moved), (true, 7, at(7), false));
        let overtaken = Verdict::Conflict(Conflict::Overtaken { current: 9 });
        assert_eq!(ban(7, None).settle(Some(&link(9))), overtaken);
        assert_eq!(write(7, Wanted::Delete { expected: None }).settle(Some(&link(9))), overtaken);
        // Two instances gave the same version: the first to reach the database has won, and the other is told.
        assert_eq!(ban(9, None).settle(Some(&link(9))), overtaken);
        assert_eq!(write(9, Wanted::Delete { expected: None }).settle(Some(&link(9))), overtaken);
        let theirs = Link { target: Target::stored("https://example.com/theirs".to_owned()), ..link(7) };
        assert_eq!(create(7).settle(Some(&theirs)), Verdict::Conflict(Conflict::Taken));
        assert_eq!(write(7, Wanted::Delete { expected: None }).settle(Some(&link(5))), Verdict::Delete);
    }

    #[test]
    fn what_is_done_already_is_not_done_again() {
        assert_eq!(create(7).settle(Some(&link(7))), Verdict::Nothing);
        let banned = Link { banned: true, ..link(7) };
        assert_eq!(ban(7, Some(5)).settle(Some(&banned)), Verdict::Nothing);
        assert_eq!(write(7, Wanted::Delete { expected: None }).settle(None), Verdict::Nothing);
    }

    /// An edit of a link whose making was refused was done to the link that had got the code.
    #[test]
    fn another_link_of_the_same_code_is_left_alone() {
        let meant = |write: NotedWrite| NotedWrite { made_at: Some(at(6)), ..write };
        assert_eq!(meant(ban(7, None)).settle(Some(&link(5))), Verdict::Conflict(Conflict::Missing));
        assert_eq!(meant(write(7, Wanted::Delete { expected: None })).settle(Some(&link(5))), Verdict::Nothing);
        assert!(matches!(meant(ban(7, None)).settle(Some(&link(6))), Verdict::Update { .. }));
    }

    #[test]
    fn what_cannot_be_done_is_told() {
        assert_eq!(create(7).settle(Some(&link(5))), Verdict::Conflict(Conflict::Taken));
        assert_eq!(ban(7, None).settle(None), Verdict::Conflict(Conflict::Missing));
        assert_eq!(ban(7, Some(4)).settle(Some(&link(5))), Verdict::Conflict(Conflict::Changed { current: 5 }));
    }
}
