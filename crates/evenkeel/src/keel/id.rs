//! The ids of a [`Keel`].

use super::Keel;
#[cfg(feature = "sql")]
use crate::id::SegmentsBuilder;
use crate::id::SnowflakeBuilder;

/// Ids; see the module [`id`](crate::id).
impl Keel {
    /// Begins a generator of the scope `scope`: 1 to 64 letters, digits, `-`, `_` or `.`, the same in every process of the fleet. Ids of one
    /// scope differ among the processes on one Redis and prefix; build one generator for each process and scope, and clone it.
    ///
    /// The store keeps the worker ids of each scope forever, so a scope stands for a kind of ids, not for a tenant or a user.
    pub fn snowflake(&self, scope: &str) -> SnowflakeBuilder {
        SnowflakeBuilder::new(&self.0.scopes, scope)
    }

    /// Begins a sequence called `name`: 1 to 64 letters, digits, `-`, `_` or `.`. Its numbers come in blocks from a table of the database that
    /// [`open`](SegmentsBuilder::open) is given; a witness in this keel's store notices if that database was restored from an older state.
    #[cfg(feature = "sql")]
    pub fn segments(&self, name: &str) -> SegmentsBuilder {
        SegmentsBuilder::new(&self.0.scopes, name)
    }
}
