//! The limits of a [`Keel`].

use super::Keel;
use crate::limit::LimitBuilder;
use std::sync::Arc;

/// Limits; see the module [`limit`](crate::limit).
impl Keel {
    /// Begins a limit called `name`: 1 to 64 letters, digits, `-`, `_` or `.`, the same in every process of the fleet. Tenants, users and sources are
    /// subjects of its calls, not parts of the name.
    pub fn limit(&self, name: &str) -> LimitBuilder {
        LimitBuilder::new(Arc::clone(&self.0.limits), name)
    }
}
