//! What a source returns: groups of changes.

use super::{Anchor, Position, Row};
use std::fmt;
use std::sync::Arc;

/// A table, as the database names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Table {
    /// The schema of PostgreSQL (`public`), the database of MySQL, `main` on SQLite.
    pub schema: Arc<str>,
    /// The name of the table.
    pub name: Arc<str>,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}

/// What happened to a row, or to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A row was inserted. A source that polls returns this for every row that it finds, because it does not know what was there before.
    Insert,
    /// A row was changed.
    Update,
    /// A row was deleted.
    Delete,
    /// Rows that the log does not name may have changed: `TRUNCATE`, a statement logged as text, DDL on partitions.
    Truncate,
    /// The definition of the table changed.
    Schema,
}

/// One change of one row, or of a table as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The table.
    pub table: Table,
    /// What happened.
    pub kind: Kind,
    /// The row before, as far as the log has it. `None` for inserts. For an update it has at least the columns of the primary key (or of the
    /// replica identity): where a log leaves it out because they have not changed, the source fills them in from the row after.
    pub before: Option<Row>,
    /// The row after. A column that it leaves out has not changed. `None` for deletes.
    pub after: Option<Row>,
}

/// What a source returns.
///
/// A group is a `Begin`, its changes, and a `Commit`. Groups do not overlap. `Idle` is never inside a group.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A group begins. The log has all of it already, so its visibility can be asked from here on.
    Begin {
        /// A position that only this group has; the group's [`barrier`](super::Source::barrier) is asked with it.
        position: Position,
    },
    /// A change in the current group.
    Change(Change),
    /// The group ends. A checkpoint here covers it.
    Commit {
        /// Where the log goes on.
        position: Position,
        /// What a later start compares with the log, to see that it is still the same one.
        anchor: Anchor,
        /// When the group was committed, in milliseconds since 1970 on the source's clock. `None`: not known.
        at_ms: Option<u64>,
    },
    /// The log has nothing for the rules up to here, as of now.
    Idle {
        /// The end of the log.
        position: Position,
    },
}
