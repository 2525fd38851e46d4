//! The ids of a [`Keel`].

use super::Keel;
use crate::id::SnowflakeBuilder;

/// Ids; see the module [`id`](crate::id).
impl Keel {
    /// Begins a generator of the scope `scope`: 1 to 64 letters, digits, `-`, `_` or `.`, the same in every process of the fleet. Ids of one
    /// scope differ; build one generator for each process and scope, and clone it.
    ///
    /// The store keeps the worker ids of each scope forever, so a scope stands for a kind of ids, not for a tenant or a user.
    pub fn snowflake(&self, scope: &str) -> SnowflakeBuilder {
        SnowflakeBuilder::new(&self.0.scopes, scope)
    }
}
