//! The figures of groups as texts, which the command line and the console share.

use crate::time;
use evenkeel::stream::StreamError;
use evenkeel::stream::admin::{GroupState, GroupStats, Mode, StreamAdmin};
use std::time::Duration;

/// A stream and the state of its groups.
#[derive(Clone)]
pub(crate) struct Figures {
    pub(crate) name: String,
    pub(crate) partitions: u16,
    pub(crate) groups: Vec<GroupState>,
}

impl Figures {
    pub(crate) async fn read(stream: &StreamAdmin) -> Result<Self, StreamError> {
        let (name, partitions) = (stream.name().to_owned(), stream.partitions());
        Ok(Self { name, partitions, groups: groups(stream).await? })
    }

    /// Entries in the log; `None` if no group shows them.
    pub(crate) fn entries(&self) -> Option<u64> {
        let of = |group: &GroupState| group.partitions.iter().map(|stats| stats.as_ref().map(|s| s.length)).sum();
        self.groups.iter().find_map(of)
    }

    /// The lag of the slowest group, in ms.
    pub(crate) fn late_ms(&self) -> Option<u64> {
        self.groups.iter().filter_map(late_ms).max()
    }

    pub(crate) fn pending(&self) -> u64 {
        self.groups.iter().map(GroupState::pending).sum()
    }

    pub(crate) fn dead(&self) -> u64 {
        self.groups.iter().map(GroupState::dead).sum()
    }

    pub(crate) fn state(&self) -> &'static str {
        match () {
            () if self.groups.is_empty() => "no groups",
            () if self.groups.iter().any(GroupState::is_missing) => "a group is missing",
            () if self.groups.iter().any(GroupState::is_paused) => "a group is paused",
            () if self.groups.iter().any(has_no_consumer) => "a group has no consumer",
            () => "active",
        }
    }
}

/// The state of each group. A partition that Redis rejects is an error: without it, the figures would be wrong.
pub(crate) async fn groups(stream: &StreamAdmin) -> Result<Vec<GroupState>, StreamError> {
    let groups = stream.groups().await?;
    match groups.iter().find_map(|group| group.rejected.first()) {
        Some(rejection) => Err(rejection.error.clone()),
        None => Ok(groups),
    }
}

/// How late the group is, in ms; `None` if it has read everything.
pub(crate) fn late_ms(group: &GroupState) -> Option<u64> {
    group.lag().map(ms)
}

/// The age of the oldest pending entry, in ms.
pub(crate) fn oldest_pending_ms(group: &GroupState) -> Option<u64> {
    group.oldest_pending().map(ms)
}

fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// A time span, or `-` for none.
pub(crate) fn span(ms: Option<u64>) -> String {
    ms.map_or_else(|| "-".to_owned(), time::span)
}

/// A number, or `unknown`.
pub(crate) fn entries(number: Option<u64>) -> String {
    number.map_or_else(|| "unknown".to_owned(), |number| number.to_string())
}

/// How the entries of a group are leased.
pub(crate) fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Entry => "unordered",
        Mode::Partition => "ordered",
    }
}

/// Pending entries that wait for their next delivery.
pub(crate) fn delayed(group: &GroupState) -> u64 {
    stats(group).map(|stats| stats.delayed).sum()
}

/// Keys whose later entries become dead letters, too.
pub(crate) fn parked_keys(group: &GroupState) -> u64 {
    stats(group).map(|stats| stats.parked_keys).sum()
}

/// Partitions with a current owner.
pub(crate) fn owned(group: &GroupState) -> usize {
    stats(group).filter(|stats| stats.owner.is_some_and(|(_, _, left)| left > 0)).count()
}

/// Until when the group is paused in some partition, the latest; `u64::MAX` until it is resumed.
pub(crate) fn paused_until(group: &GroupState) -> Option<u64> {
    stats(group).filter_map(|stats| stats.paused_until).max()
}

/// Consumers make a call about once a second; one that is busy has leases.
const SILENT_MS: u64 = 60_000;

/// Whether no consumer reads the group.
fn has_no_consumer(group: &GroupState) -> bool {
    match group.mode {
        Mode::Partition => owned(group) == 0,
        Mode::Entry => stats(group).all(|stats| stats.silent_ms.is_none_or(|silent| silent > SILENT_MS)),
    }
}

/// `active`, `paused`, ..
pub(crate) fn state(group: &GroupState) -> String {
    match paused_until(group) {
        _ if group.is_missing() => "missing: Redis has lost it".to_owned(),
        Some(u64::MAX) => "paused".to_owned(),
        Some(until) => format!("paused until {}", time::text(until)),
        None if has_no_consumer(group) => "no consumer".to_owned(),
        None => "active".to_owned(),
    }
}

fn stats(group: &GroupState) -> impl Iterator<Item = &GroupStats> {
    group.partitions.iter().flatten()
}
