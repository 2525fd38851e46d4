//! The errors of lock calls and what a caller can do about them.

use evenkeel_link::LinkError;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// Why a lock call failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Redis returned an error or did not reply. If the lock was acquired nevertheless, it ends with its lease.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// Another holder had the lock for as long as the call was allowed to wait. Retry later, or reject your own caller.
    #[error("the lock {} is held{}", on_one_line(name), for_more(*free_in))]
    Busy {
        /// The lock.
        name: String,
        /// The time until it can be free at the earliest, unless it is released before; zero if another task of this process has requested
        /// it before and has no reply yet.
        free_in: Duration,
    },
    /// Too few servers of a `Redlock` replied and are members: the others are not reachable, or were restarted and are excluded for
    /// the longest ttl. Retry later; locks acquired meanwhile end with their leases. If so many servers reject this program (password,
    /// version) that no majority is left, a retry cannot succeed.
    #[error("{taking_part} of {servers} servers replied and are members, {needed} are needed; {}", others(unreached))]
    NoQuorum {
        /// The number of servers that replied and are members.
        taking_part: usize,
        /// The number of servers that are needed.
        needed: usize,
        /// The number of servers.
        servers: usize,
        /// The servers without a connection.
        unreached: Vec<Unreached>,
    },
    /// Programs use different numbers for the same name, so that they would not exclude each other. Nothing was done. Use the same
    /// number in all of them; to change it, change the stored one when no program uses the old one any more.
    #[error(
        "the {what} {} has {stored} {}, this program requests {asked}: use the same number in every program, \
         or change the stored one ({}) when no program uses the old one any more",
        on_one_line(name),
        if *what == "semaphore" { "permits" } else { "stripes" },
        if *what == "semaphore" { "`resize`" } else { "`restripe`" }
    )]
    Differs {
        /// `semaphore` or `striped lock`.
        what: &'static str,
        /// Its name.
        name: String,
        /// The number that this program requests.
        asked: u32,
        /// The number that the first program requested, or that an explicit change has set.
        stored: u32,
    },
    /// The arguments are invalid. Nothing was sent.
    #[error("{0}")]
    Invalid(String),
    /// The database that stores the lock returned an error or did not reply. If the lock was acquired nevertheless, it ends
    /// with its lease.
    #[error("{error}")]
    Database {
        /// The database's error; with `evenkeel`, a `SqlError`.
        error: Arc<dyn Error + Send + Sync>,
        /// Whether the same call may succeed later.
        is_retryable: bool,
        /// Whether the statement may have been executed.
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

    /// Whether the call may have been executed although it failed.
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

/// A name may have line breaks, an error has none.
fn on_one_line(name: &str) -> String {
    let mut line = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_control() { line.extend(c.escape_default()) } else { line.push(c) }
    }
    line
}

fn for_more(free_in: Duration) -> String {
    match free_in.as_millis() {
        0 => ": another task of this process requested it before and has no reply yet".to_owned(),
        ms => format!(", for {ms} ms more unless it is released or renewed"),
    }
}

fn others(unreached: &[Unreached]) -> String {
    match unreached {
        [] => "the others are not reachable, or were restarted and are excluded for the longest ttl".to_owned(),
        _ => unreached.iter().map(Unreached::to_string).collect::<Vec<_>>().join("; "),
    }
}

/// A server of a `Redlock` without a connection, and the error.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{address}: {}", error.reason())]
#[non_exhaustive]
pub struct Unreached {
    /// Host and port, never a password.
    pub address: String,
    /// Why there is no connection.
    pub error: LinkError,
}

/// The guard no longer holds its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the lock was lost: {reason}; stop, because another holder may have it now")]
pub struct Lost {
    /// How the loss was detected.
    pub reason: LossReason,
}

/// How a guard detected the loss of its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LossReason {
    /// Its lease ended before a renewal was confirmed: the process was paused, or disconnected.
    #[error("its lease ended before a renewal was confirmed")]
    Expired,
    /// A renewal found that another owner or no owner holds it: it was broken, or lost by Redis, or the connection that held
    /// it has ended.
    #[error("a renewal found that it is no longer held")]
    Gone,
    /// The database has stored a higher fencing token: another holder acquired the lock later.
    #[error("the database has the fencing token of a later holder")]
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

#[cfg(test)]
mod tests {
    use super::LockError;
    use std::time::Duration;

    #[test]
    fn error_of_a_name_with_line_breaks_is_one_line() {
        let name = "Müller's\r\n\"till\"".to_owned();
        let busy = LockError::Busy { name: name.clone(), free_in: Duration::from_millis(5) }.to_string();
        assert!(busy.starts_with(r#"the lock Müller's\r\n"till" is held, for 5 ms"#), "{busy}");
        let differs = LockError::Differs { what: "semaphore", name, asked: 2, stored: 3 }.to_string();
        assert!(differs.starts_with(r#"the semaphore Müller's\r\n"till" has 3 permits"#), "{differs}");
    }
}
