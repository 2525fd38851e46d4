//! Groups and their readers: how entries are leased, and by which tokens.

use crate::stream::id::EntryId;
use crate::stream::name::GroupName;
use evenkeel_link::Token;

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

/// A consumer of a group, and the tokens with which it proves that it is current.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reader {
    /// One incarnation of a consumer; never used again.
    pub consumer: Token,
    /// The fencing token of its partition lease; 0 in [`Mode::Entry`].
    pub fence: u64,
    /// The epoch of the group when it joined.
    pub epoch: u64,
}

/// The reply to a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// The consumer may read.
    Granted {
        /// With these tokens.
        reader: Reader,
        /// The remaining lease of the partition; 0 in [`Mode::Entry`].
        lease_left_ms: u64,
    },
    /// Another consumer has the lease of the partition.
    Taken {
        /// The time until it expires, unless it is renewed.
        free_in_ms: u64,
    },
}
