//! The atomic steps of a stream's partition. Each is a value, with its script next to it; docs/spec/stream.md specifies them.

mod consume;
mod log;
mod operate;

pub use consume::*;
pub use log::*;
pub use operate::*;

/// What the files of most steps use.
mod prelude {
    pub(super) use crate::step::{Args, Call, Redis, Step};
    pub(super) use crate::stream::check::{self, Checked};
    pub(super) use crate::stream::id::EntryId;
    pub(super) use crate::stream::name::{GroupName, Partition};
    pub(super) use crate::stream::partition::{Group, PartitionState};
    pub(super) use crate::stream::parts::Parts;
    pub(super) use crate::stream::scripts;
    pub(super) use crate::stream::steps::{FOREVER_MS, ITEMS_MAX, REPLY_BYTES_MAX, Reply};
    pub(super) use crate::stream::wire::{self, Replied};
    pub(super) use evenkeel_link::Token;
    pub(super) use redis::Value;
}

/// The maximum number of items of one call.
pub const ITEMS_MAX: usize = 500;
/// The maximum length of an entry's record.
pub const RECORD_BYTES_MAX: usize = 1 << 20;
/// A reply takes no further entry once its keys and records have this many bytes: it has at most these, and those of
/// [`PART_ITEMS`] entries more.
pub const REPLY_BYTES_MAX: usize = 4 << 20;
/// The number of new entries that are read at once, because the size of an entry is known only once it is read.
pub(crate) const PART_ITEMS: usize = 8;
/// The maximum length of an entry's key.
pub const KEY_BYTES_MAX: usize = 512;
/// The highest sequence of a producer: Lua's numbers are exact up to this.
pub const SEQUENCE_MAX: u64 = (1 << 53) - 1;
/// The first time that means "until resumed": Lua's numbers are exact up to this.
pub(crate) const FOREVER_MS: u64 = (1 << 53) - 1;
/// The longest duration of a lease or delay: a hundred years.
pub const SPAN_MS_MAX: u64 = 100 * 365 * 24 * 3_600_000;

/// The reply to a call of a consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply<T> {
    /// The call was executed.
    Done(T),
    /// The partition or the group does not exist: it was never opened, or Redis has lost it. `open` creates it again.
    Missing,
    /// The caller is not, or no longer, the owner of the partition; or the group has a higher epoch. Nothing changed.
    Stale,
    /// The group is leased in the other mode. Nothing changed.
    OtherMode,
    /// The owner of the partition must page through the pending entries before it reads new ones. Nothing changed.
    TakeOverFirst,
}
