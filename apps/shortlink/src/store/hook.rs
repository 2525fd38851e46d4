//! [`ChangeHook`]: adds the effects of a change to its unit of work.

use crate::domain::Link;
use evenkeel::sql::{Effects, SqlError};

/// Adds the effects of a change to its unit of work, so that they happen if and only if the change is committed.
pub trait ChangeHook: Send + Sync {
    /// Adds the effects of `change`.
    ///
    /// # Errors
    /// An effect cannot be added. The change is rolled back.
    fn on_change(&self, change: &Change<'_>, effects: &mut Effects) -> Result<(), SqlError>;
}

/// A change of a link.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// The link was created.
    Created(&'a Link),
    /// The link was imported. Its version may be below that of an earlier link of the same code.
    Imported(&'a Link),
    /// The link was changed.
    Changed {
        /// The link after the change.
        link: &'a Link,
        /// Whether its expiry has changed.
        expiry_changed: bool,
    },
    /// The link was deleted; this is its last state.
    Deleted(&'a Link),
    /// The link has expired.
    Expired(&'a Link),
    /// An unchanged link of an earlier version, which lacks its expiry job.
    MissingExpiryJob(&'a Link),
}
