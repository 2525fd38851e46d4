//! [`Conflict`]: the ways in which another transaction can be in one's way, whatever the database calls them.

use crate::sql::SqlError;
use sqlx::error::DatabaseError;
use std::fmt;

/// Another transaction was in the way. Nothing of this one happened, and the same work may succeed when it is done again from its
/// beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Conflict {
    /// Two transactions waited for each other; this one was ended.
    Deadlock,
    /// A row (SQLite: the file) that somebody else has locked was not given in time, or not at once where `NOWAIT` was asked.
    NotGranted,
    /// The isolation that was asked for cannot be kept: somebody else has committed a change in between.
    Serialization,
    /// The row's version is not the one that was read ([`Stale`]).
    Stale,
}

impl Conflict {
    /// What an error of the driver says; `None` if it is no conflict. A lost connection is none: then nobody knows whether the
    /// work has happened.
    #[must_use]
    pub fn of(error: &sqlx::Error) -> Option<Self> {
        error.as_database_error().and_then(of_database)
    }

    /// The label of the metric.
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
            Self::NotGranted => "a lock that was not given in time",
            Self::Serialization => "a change in between that the isolation does not allow",
            Self::Stale => "a row that somebody else has changed",
        })
    }
}

#[cfg_attr(
    not(any(feature = "mysql", feature = "postgres", feature = "sqlite")),
    expect(unused_variables, reason = "no database")
)]
fn of_database(error: &dyn DatabaseError) -> Option<Conflict> {
    #[cfg(feature = "mysql")]
    if let Some(error) = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return match error.number() {
            1213 => Some(Conflict::Deadlock),
            // MariaDB says 1205 also where `NOWAIT` was asked, MySQL 3572.
            1205 | 3572 => Some(Conflict::NotGranted),
            // A snapshot that was outrun; a transaction that a cluster did not certify.
            1020 | 3101 => Some(Conflict::Serialization),
            _ => None,
        };
    }
    #[cfg(feature = "postgres")]
    if let Some(error) = error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>() {
        return match error.code() {
            "40P01" => Some(Conflict::Deadlock),
            "55P03" => Some(Conflict::NotGranted),
            "40001" => Some(Conflict::Serialization),
            _ => None,
        };
    }
    #[cfg(feature = "sqlite")]
    if error.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
        let code = error.code().and_then(|code| code.parse::<u32>().ok()).unwrap_or(0);
        return match (code, code & 0xff) {
            // SQLITE_BUSY_SNAPSHOT: somebody has written since this transaction began to read.
            (517, _) => Some(Conflict::Serialization),
            // SQLITE_BUSY and SQLITE_LOCKED.
            (_, 5 | 6) => Some(Conflict::NotGranted),
            _ => None,
        };
    }
    None
}

/// An error of work on a database, as [`Keel::retry_on_conflict`](crate::Keel::retry_on_conflict) looks at it. Implement it for your own
/// error with one line for each variant that wraps one of these.
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
    /// The conflict it tells of; `None` for any other failure.
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
            // A work that has seen a deadlock or the like before, and went on.
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

/// Somebody else has changed the row since it was read. Read it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("somebody else has changed the row since it was read")]
pub struct Stale;

impl Stale {
    /// For the number of rows of an `UPDATE .. SET version = version + 1 WHERE id = ? AND version = ?`: none means that the version
    /// is another one by now (or the row is gone: look, if that can be).
    ///
    /// # Errors
    /// [`Stale`] if no row was found.
    pub fn unless(rows_affected: u64) -> Result<(), Self> {
        if rows_affected == 0 { Err(Self) } else { Ok(()) }
    }
}

impl Contended for Stale {
    fn conflict(&self) -> Option<Conflict> {
        Some(Conflict::Stale)
    }
}

/// The error of work that compares versions and has no other of its own.
#[derive(Debug, thiserror::Error)]
pub enum OptimisticError {
    /// Somebody was faster.
    #[error(transparent)]
    Stale(#[from] Stale),
    /// The database did not do it.
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    /// The library did not do it.
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
