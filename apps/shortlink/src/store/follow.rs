//! [`Follow`]: what must happen once a link has changed.

use crate::domain::Link;
use evenkeel::sql::{Effects, SqlError};

/// Says what must happen once a link has changed: told in the unit of work of the change, so that it happens if, and only if, the
/// change is committed.
pub trait Follow: Send + Sync {
    /// Notes what follows `change`.
    ///
    /// # Errors
    /// Whatever keeps it from noting that: the change is not made then.
    fn follow(&self, change: &Change<'_>, effects: &mut Effects) -> Result<(), SqlError>;
}

/// How a link has changed.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// It was made.
    Made(&'a Link),
    /// It came with an import, which may have given it an older version than an earlier link of this code had.
    Imported(&'a Link),
    /// It was changed.
    Changed {
        /// What it is now.
        link: &'a Link,
        /// Whether its end is another one.
        end_moved: bool,
    },
    /// It was deleted; this is what it was.
    Deleted(&'a Link),
    /// Its end has come.
    Ended(&'a Link),
    /// Nothing has changed, but nobody has been told of its end yet.
    Ending(&'a Link),
}
