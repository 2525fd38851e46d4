//! What can go wrong with a lock, and what to do about it.

use evenkeel_link::LinkError;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// Why a lock call failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Redis did not do it, or did not say so. A lock that was acquired without our hearing of it ends with its lease.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// Another holder has the lock, and had it for as long as the call was allowed to wait. Try later, or refuse your own caller.
    #[error("the lock {name} is taken{}", for_more(*free_in))]
    Busy {
        /// The lock.
        name: String,
        /// When it can be free at the earliest, unless it is given back before; nothing if another task of this process has asked
        /// for it before and has no answer yet.
        free_in: Duration,
    },
    /// Too few servers of a `Redlock` answered, or take part: the others are away, or were started again and sit
    /// out the longest ttl. Try later; what was taken meanwhile ends with its lease. If so many servers refuse this program (password,
    /// version) that no majority is left, trying again cannot help.
    #[error("{taking_part} of {servers} servers answered and take part, {needed} are needed; {}", others(unreached))]
    NoQuorum {
        /// How many answered and take part.
        taking_part: usize,
        /// How many are needed.
        needed: usize,
        /// How many there are.
        servers: usize,
        /// Those without a connection.
        unreached: Vec<Unreached>,
    },
    /// Programs name different numbers for the same thing, so that they would not keep each other out. Nothing was done. Give all
    /// of them the same number; if it is to change, change the stored one when none works with the old one any more.
    #[error(
        "the {what} {name} has {stored} {}, this program says {asked}: give every program the same number, \
         or change the stored one ({}) when none works with the old one any more",
        if *what == "semaphore" { "permits" } else { "stripes" },
        if *what == "semaphore" { "`resize`" } else { "`restripe`" }
    )]
    Differs {
        /// `semaphore` or `striped lock`.
        what: &'static str,
        /// What it is called.
        name: String,
        /// What this program says.
        asked: u32,
        /// What the first program said, or an explicit change.
        stored: u32,
    },
    /// The call cannot work as it is. Nothing was sent.
    #[error("{0}")]
    Invalid(String),
    /// The database that keeps the lock did not do it, or did not say so. A lock that was acquired without our hearing of it ends
    /// with its lease.
    #[error("{error}")]
    Database {
        /// What it said; with `evenkeel`, a `SqlError`.
        error: Arc<dyn Error + Send + Sync>,
        /// Whether the same call may succeed later.
        is_retryable: bool,
        /// Whether the statement may have been carried out.
        outcome_unknown: bool,
    },
}

impl LockError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Link(error) => error.is_retryable(),
            Self::Busy { .. } => true,
            Self::NoQuorum { needed, servers, unreached, .. } => {
                let refusals = unreached.iter().filter(|server| !server.error.is_retryable()).count();
                servers.saturating_sub(refusals) >= *needed
            }
            Self::Differs { .. } | Self::Invalid(_) => false,
            Self::Database { is_retryable, .. } => *is_retryable,
        }
    }

    /// Whether the call may have happened although it failed here.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        match self {
            Self::Link(error) => error.outcome_unknown(),
            Self::NoQuorum { .. } => true,
            Self::Busy { .. } | Self::Differs { .. } | Self::Invalid(_) => false,
            Self::Database { outcome_unknown, .. } => *outcome_unknown,
        }
    }
}

fn for_more(free_in: Duration) -> String {
    match free_in.as_millis() {
        0 => ": another task of this process asked for it before and has no answer yet".to_owned(),
        ms => format!(", for {ms} ms more unless it is given back or renewed"),
    }
}

fn others(unreached: &[Unreached]) -> String {
    match unreached {
        [] => "the others are away, or were started again and sit out".to_owned(),
        _ => unreached.iter().map(Unreached::to_string).collect::<Vec<_>>().join("; "),
    }
}

/// A server of a `Redlock` that has no connection, and why.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{address}: {}", error.reason())]
#[non_exhaustive]
pub struct Unreached {
    /// Host and port, never a password.
    pub address: String,
    /// Why there is none.
    pub error: LinkError,
}

/// The guard does not hold its lock any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the lock was lost: {reason}; stop, and let whoever has it now do the work")]
pub struct Lost {
    /// How that came to be known.
    pub reason: LossReason,
}

/// How a guard came to know that it has lost its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LossReason {
    /// Its lease ended before a renewal was confirmed: this process was paused, or cut off.
    #[error("its lease ended before a renewal was confirmed")]
    Expired,
    /// A renewal found that another owner has it, or nobody: it was broken, or forgotten by Redis, or the connection it was held
    /// by has ended.
    #[error("a renewal found that it is held no more")]
    Gone,
    /// The database has seen a higher fence: another holder acquired the lock later.
    #[error("the database has seen a later holder")]
    Fenced,
}

impl LossReason {
    /// The label of the metric.
    pub fn label(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Gone => "gone",
            Self::Fenced => "fenced",
        }
    }
}
