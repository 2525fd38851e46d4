//! [`Conflict`]: the kinds of conflict with another transaction, independent of the database.

use crate::sql::SqlError;
use crate::sql::database::{SqlErrorClass, class_of_error};
use std::fmt;

/// A conflict with another transaction. This transaction changed nothing, and the same work may succeed if it is repeated from its
/// beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Conflict {
    /// Two transactions waited for each other; the database aborted this one.
    Deadlock,
    /// A lock on a row (SQLite: on the file) was not granted in time, or not at once with `NOWAIT`.
    NotGranted,
    /// The requested isolation cannot be kept: another transaction has committed a conflicting change.
    Serialization,
    /// The row's version is not the one that was read ([`Stale`]).
    Stale,
}

impl Conflict {
    /// The conflict that an error of the driver reports; `None` if it is not a conflict. A lost connection is not one, because the
    /// transaction may have been committed.
    #[must_use]
    pub fn of(error: &sqlx::Error) -> Option<Self> {
        match class_of_error(error) {
            SqlErrorClass::Contention(conflict) => Some(conflict),
            _ => None,
        }
    }

    /// The value of the metric's label `conflict`.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Deadlock => "deadlock",
            Self::NotGranted => "not_granted",
            Self::Serialization => "serialization",
            Self::Stale => "stale",
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadlock => "a deadlock",
            Self::NotGranted => "a lock that was not granted in time",
            Self::Serialization => "a serialization failure",
            Self::Stale => "a row changed by another transaction",
        })
    }
}

/// An error of a transaction that [`Keel::retry_on_conflict`](crate::Keel::retry_on_conflict) repeats after a conflict. Implement it
/// for your own error with one match arm for each variant that wraps one of these types.
///
/// ```
/// # #[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
/// # mod example {
/// use evenkeel::sql::{Conflict, Contended, Stale};
///
/// #[derive(Debug)]
/// enum ShopError {
///     SoldOut,
///     Stale(Stale),
///     Sql(sqlx::Error),
/// }
///
/// impl Contended for ShopError {
///     fn conflict(&self) -> Option<Conflict> {
///         match self {
///             Self::SoldOut => None,
///             Self::Stale(stale) => stale.conflict(),
///             Self::Sql(error) => error.conflict(),
///         }
///     }
/// }
/// # }
/// ```
pub trait Contended {
    /// The conflict that this error reports; `None` for any other failure.
    fn conflict(&self) -> Option<Conflict>;
}

impl Contended for sqlx::Error {
    fn conflict(&self) -> Option<Conflict> {
        Conflict::of(self)
    }
}

impl Contended for SqlError {
    fn conflict(&self) -> Option<Conflict> {
        match self {
            Self::Database { error, .. } => Conflict::of(error),
            Self::Busy(_) => Some(Conflict::NotGranted),
            // An earlier statement of the unit of work failed with a deadlock or a similar error.
            Self::Lost | Self::Poisoned(_) => Some(Conflict::Deadlock),
            _ => None,
        }
    }
}

#[cfg(feature = "lock")]
impl Contended for crate::lock::FenceError {
    fn conflict(&self) -> Option<Conflict> {
        match self {
            Self::Sql(error) => error.conflict(),
            _ => None,
        }
    }
}

/// Another transaction has changed the row since it was read. Read it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another transaction has changed the row since it was read")]
pub struct Stale;

impl Stale {
    /// Checks the number of rows of an `UPDATE .. SET version = version + 1 WHERE id = ? AND version = ?`: zero means that another
    /// transaction changed the version (or deleted the row: read it to distinguish the two, where rows are deleted).
    ///
    /// # Errors
    /// [`Stale`] if no row was updated.
    pub fn unless(rows_affected: u64) -> Result<(), Self> {
        if rows_affected == 0 { Err(Self) } else { Ok(()) }
    }
}

impl Contended for Stale {
    fn conflict(&self) -> Option<Conflict> {
        Some(Conflict::Stale)
    }
}

/// The error of an optimistic transaction that has no error type of its own.
#[derive(Debug, thiserror::Error)]
pub enum OptimisticError {
    /// Another transaction changed the row first.
    #[error(transparent)]
    Stale(#[from] Stale),
    /// An error of the driver.
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    /// An error of the library.
    #[error(transparent)]
    Library(#[from] SqlError),
}

impl Contended for OptimisticError {
    fn conflict(&self) -> Option<Conflict> {
        match self {
            Self::Stale(stale) => stale.conflict(),
            Self::Sql(error) => error.conflict(),
            Self::Library(error) => error.conflict(),
        }
    }
}
