//! The atomic steps of the queue protocol. Each is a value with a file of its own, next to its script: its limits, its call of Redis, how
//! the reply is read, and what the model does.
//!
//! docs/spec/queue.md specifies them. Every step concerns one shard, accepts at most [`ITEMS_MAX`] items, replies in the
//! order of the call, checks before it writes, and may be repeated if its reply was lost. Times are milliseconds on the
//! server's clock (Redis's `TIME`; the given clock in the model).

mod consume;
mod enqueue;
pub mod grow;
mod look;
mod operate;

pub use consume::*;
pub use enqueue::*;
pub use look::*;
pub use operate::*;

use std::fmt;
use std::sync::Arc;

/// What the files of most steps use.
mod prelude {
    pub(super) use crate::queue::check::{self, Checked};
    pub(super) use crate::queue::error::QueueError;
    pub(super) use crate::queue::job::JobId;
    pub(super) use crate::queue::scripts;
    pub(super) use crate::queue::shard::ShardState;
    pub(super) use crate::queue::steps::{Shard, State};
    pub(super) use crate::queue::wire::{self, Replied};
    pub(super) use crate::step::reply::{array, bulk, integer, unsigned};
    pub(super) use crate::step::{Args, Call, Redis, Step};
    pub(super) use evenkeel_link::support::guard;
    pub(super) use redis::Value;
}

/// The maximum number of items per call; a larger call is rejected before anything is sent.
pub const ITEMS_MAX: usize = 500;
/// The maximum size of the records that a claim returns, except that the first job is returned regardless of its size.
pub const CLAIM_BYTES_MAX: u64 = 4 << 20;
/// The maximum size of a piece of a record.
pub const PIECE_BYTES_MAX: u64 = 1 << 20;
/// The maximum number of markers of a shard.
pub const MARKERS_MAX: u64 = 8;
/// A worker without a noted call for this long is removed by `rescue`, with its stored reply.
pub const WORKER_SILENT_MS: u64 = 600_000;
/// A worker with a call within this time is counted. Heartbeats are at least three times as frequent.
pub const WORKER_COUNTED_MS: u64 = 60_000;

/// One shard of a topic: the prefix and hash tag of all its keys.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Shard(Arc<str>);

impl Shard {
    /// Shard `number` of `topic` in the namespace `prefix`. Neither may contain braces or colons; the builder checks that.
    #[must_use]
    pub fn new(prefix: &str, topic: &str, number: u16) -> Self {
        Self(format!("{{{prefix}:q:{topic}:{number}}}").into())
    }

    /// The number of the shard within its topic.
    #[must_use]
    pub fn number(&self) -> u16 {
        let number = self.0.trim_end_matches('}').rsplit(':').next();
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    /// The prefix and hash tag of all keys of the shard.
    #[must_use]
    pub fn tag(&self) -> &str {
        &self.0
    }

    /// One of its keys.
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}:{name}", self.0)
    }
}

impl fmt::Debug for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
