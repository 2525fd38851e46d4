//! The state of a partition in the model, and the operations of which the steps consist.

mod delivery;
mod group;
mod index;
mod log;

pub(crate) use group::{Group, Name, Pending};
pub(crate) use index::Index;
pub(crate) use log::{Log, LogEntry, next_id};

use super::id::EntryId;
use super::name::GroupName;
use super::steps::{Reader, Reply};
use super::wire::Replied;
use std::collections::BTreeMap;
use std::fmt;

/// The state of one partition.
#[derive(Clone, Debug, Default)]
pub struct PartitionState {
    /// `None` until it is opened.
    pub(crate) log: Option<Log>,
    pub(crate) groups: BTreeMap<GroupName, Group>,
    /// The last sequence of each producer and the id of its entry.
    pub(crate) producers: BTreeMap<Producer, (u64, EntryId)>,
    /// The time of each producer's last append.
    pub(crate) active: Index<Producer>,
    /// Whether the present step appends.
    pub(crate) grows: bool,
}

/// A producer; its text has the order of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Producer(pub(crate) [u8; 16]);

impl fmt::Display for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl PartitionState {
    /// Runs a step on a group that exists.
    pub(crate) fn on_group<T>(
        &mut self,
        name: &GroupName,
        step: impl FnOnce(&mut Group, &Log) -> Reply<T>,
    ) -> Replied<Reply<T>> {
        Ok(match (&self.log, self.groups.get_mut(name)) {
            (Some(log), Some(group)) => step(group, log),
            _ => Reply::Missing,
        })
    }

    /// Runs a step of a reader that is current.
    pub(crate) fn by_reader<T>(
        &mut self,
        name: &GroupName,
        reader: Reader,
        step: impl FnOnce(&mut Group, &Log, &Name) -> Reply<T>,
    ) -> Replied<Reply<T>> {
        self.on_group(name, |group, log| match group.refused(reader) {
            Some(refused) => refused,
            None => step(group, log, &group::name_of(reader)),
        })
    }
}
