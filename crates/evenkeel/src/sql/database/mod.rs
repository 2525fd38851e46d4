//! The databases a unit of work stands on, behind one sealed trait: how a statement is sent, how a row is read, and the few
//! words in which they differ. Each has a file of its own.

mod dialect;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
mod row;
#[cfg(feature = "sqlite")]
mod sqlite;
mod statement;

pub(crate) use dialect::{Dialect, Kind, Trouble, trouble_of_any};
pub(crate) use row::Row;
pub(crate) use statement::{LIST_MAX, Lists, Statement, Value};

/// A database that a unit of work can stand on: `sqlx::MySql` (MySQL 8 and MariaDB 10.6 or newer), `sqlx::Postgres`
/// (14 or newer) and `sqlx::Sqlite` (3.42 or newer), each behind the cargo feature of its name.
///
/// Sealed: the promises were tested on these, and rest on how each of them locks.
pub trait Database: Dialect {}
