//! [`Open`]: partitions and groups are created.

use crate::step::reply::unsigned;
use crate::stream::steps::prelude::*;

/// Creates the partition and those of the groups that it does not have. New ids are above `last`.
#[derive(Clone, Debug)]
pub struct Open {
    /// The groups.
    pub groups: Vec<GroupSpec>,
    /// The highest id that is known to have been in the log.
    pub last: EntryId,
}

/// How a group's entries are leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Each entry has a lease of its own; any number of consumers reads the partition.
    Entry,
    /// One consumer has a lease of the partition, with a fencing token; it alone reads.
    Partition,
}

/// Where a group begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// With the first entry that the log still has after this id.
    After(EntryId),
    /// With the next entry that is appended.
    End,
}

/// A group that the partition must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSpec {
    /// Its name.
    pub name: GroupName,
    /// Where it begins, if it is created.
    pub position: Position,
    /// How its entries are leased.
    pub mode: Mode,
}

/// The reply for one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// It was created: it is new, or Redis has lost it.
    Created,
    /// It existed.
    Existed,
    /// It exists with the other mode, or another program has created it. Nothing changed.
    Refused,
}

impl Step<Partition> for Open {
    type Reply = Vec<Opened>;

    fn check(&self) -> Checked {
        check::items(self.groups.len())
    }

    fn call(&self, _: &Partition) -> Call {
        let args = self.groups.iter().fold(Args::default().id(self.last), |args, group| {
            args.bytes(group.name.as_str()).position(group.position).bytes(match group.mode {
                Mode::Entry => "0",
                Mode::Partition => "1",
            })
        });
        Call::function(&scripts::OPEN, args)
    }

    fn reply(&self, value: Value) -> Replied<Vec<Opened>> {
        wire::each(value, |code| match unsigned(&code)? {
            1 => Ok(Opened::Created),
            2 => Ok(Opened::Existed),
            3 => Ok(Opened::Refused),
            _ => Err(wire::unexpected("open")),
        })
    }

    fn apply(&self, state: &mut PartitionState, now: u64) -> Replied<Vec<Opened>> {
        let log = state.log.get_or_insert_default();
        log.last = log.last.max(self.last);
        let mut open = |spec: &GroupSpec| match state.groups.get(&spec.name) {
            Some(group) if group.mode == spec.mode => Opened::Existed,
            Some(_) => Opened::Refused,
            None => {
                let group = Group::new(spec.name.clone(), spec.mode, now, log.position(spec.position));
                state.groups.insert(spec.name.clone(), group);
                Opened::Created
            }
        };
        Ok(self.groups.iter().map(&mut open).collect())
    }
}
