//! Finds stale reads: those that returned an older version than one acknowledged before they began.

use super::operation::{Act, History, Operation};
use super::timeline::Violation;
use std::fmt;
use std::time::Duration;

/// A read that began after a newer version had been acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleRead {
    /// The key.
    pub key: String,
    /// The process.
    pub process: u64,
    /// The returned version; 0 is absent.
    pub returned: u64,
    /// The highest version acknowledged before the read began.
    pub acknowledged: u64,
    /// The number of newer acknowledged versions.
    pub versions_behind: u64,
    /// How long the returned version had been stale when the read began.
    pub age: Duration,
}

/// The result of [`staleness`].
#[derive(Clone, Debug, Default)]
pub struct Staleness {
    /// Checked reads. A test should require some, because a check of none shows nothing.
    pub reads: u64,
    /// Acknowledged writes.
    pub writes: u64,
    /// Every stale read, ordered by key and beginning.
    pub stale: Vec<StaleRead>,
    worst: Option<Violation>,
}

/// Compares every read with the writes acknowledged before it began.
///
/// Values are versions that rise with every write of a key, from 1; an absent value counts as 0, so record a deletion as a version of its
/// own if readers can recognize it. A write is acknowledged when its caller has received its success, including the invalidation; writes
/// with an unknown outcome are not compared.
///
/// Not checked: that a read returned a value that was ever written, and that the reads of one process are monotonic.
#[must_use]
pub fn staleness(history: &History<u64>) -> Staleness {
    let mut found = Staleness::default();
    let mut worst_age = None;
    for operations in history.by_key().into_values() {
        let acknowledged = Acknowledged::of(&operations);
        found.writes += acknowledged.0.len() as u64;
        for (index, read) in operations.iter().enumerate() {
            let Act::Read(version) = &read.act else { continue };
            found.reads += 1;
            let Some(stale) = acknowledged.check(read, version.unwrap_or(0)) else { continue };
            if worst_age.is_none_or(|worst| stale.age > worst) {
                worst_age = Some(stale.age);
                found.worst = Some(Violation::new(&stale.to_string(), &operations, index));
            }
            found.stale.push(stale);
        }
    }
    found
}

impl Staleness {
    /// Requires that no read was staler than `allowed`; zero permits no stale read.
    ///
    /// Errors: the stalest read, with its key's timeline.
    pub fn within(&self, allowed: Duration) -> Result<(), Violation> {
        match &self.worst {
            Some(worst) if self.stale.iter().any(|stale| allowed.is_zero() || stale.age > allowed) => {
                Err(worst.clone())
            }
            _ => Ok(()),
        }
    }

    /// The age of the stalest read; zero if there is none.
    #[must_use]
    pub fn age_max(&self) -> Duration {
        self.stale.iter().map(|stale| stale.age).max().unwrap_or_default()
    }
}

impl fmt::Display for Staleness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (stale, age) = (self.stale.len(), self.age_max());
        write!(
            f,
            "{} reads, {} acknowledged writes, {stale} stale reads, the stalest by {age:?}",
            self.reads, self.writes
        )
    }
}

impl fmt::Display for StaleRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StaleRead { key, process, returned, acknowledged, versions_behind, age } = self;
        write!(
            f,
            "process {process} read version {returned} of {key:?} although {acknowledged} had been acknowledged: "
        )?;
        write!(f, "{versions_behind} versions and {age:?} behind")
    }
}

/// The acknowledged writes of one key in the order of their acknowledgements, each with the highest version so far.
struct Acknowledged<'a>(Vec<(&'a Operation<u64>, u64)>);

impl<'a> Acknowledged<'a> {
    fn of(operations: &[&'a Operation<u64>]) -> Acknowledged<'a> {
        let is_write =
            |operation: &&&Operation<u64>| matches!(operation.act, Act::Write(_)) && operation.returned.is_some();
        let mut writes: Vec<_> = operations.iter().filter(is_write).map(|write| (*write, 0)).collect();
        writes.sort_by_key(|(write, _)| write.returned);
        let mut highest = 0;
        for (write, highest_so_far) in &mut writes {
            highest = highest.max(version(write));
            *highest_so_far = highest;
        }
        Acknowledged(writes)
    }

    fn check(&self, read: &Operation<u64>, returned: u64) -> Option<StaleRead> {
        let before = self.0.partition_point(|(write, _)| write.precedes(read));
        let acknowledged = self.0[..before].last()?.1;
        if returned >= acknowledged {
            return None;
        }
        let newer: Vec<_> = self.0[..before].iter().filter(|(write, _)| version(write) > returned).collect();
        let since = newer.first()?.0.returned?.nanoseconds;
        Some(StaleRead {
            key: read.key.clone(),
            process: read.process,
            returned,
            acknowledged,
            versions_behind: newer.len() as u64,
            age: Duration::from_nanos(read.invoked.nanoseconds.saturating_sub(since)),
        })
    }
}

fn version(write: &Operation<u64>) -> u64 {
    match write.act {
        Act::Write(version) | Act::Read(version) => version.unwrap_or(0),
    }
}
