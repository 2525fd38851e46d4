//! The databases of a unit of work behind one sealed trait: how a statement is sent, how a row is read, and the differences in SQL.
//! Each database has its own file.

mod dialect;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
mod row;
#[cfg(feature = "sqlite")]
mod sqlite;
mod statement;

pub(crate) use dialect::{Dialect, Kind, SqlErrorClass, Stores, class_of_any_error};
pub(crate) use row::Row;
pub(crate) use statement::{LIST_MAX, Lists, Statement, Value, translate};

/// A database that supports units of work: `sqlx::MySql` (MySQL 8 and MariaDB 10.6 or newer), `sqlx::Postgres` (14 or newer) and
/// `sqlx::Sqlite` (3.42 or newer), each behind the cargo feature of its name.
///
/// The trait is sealed: the promises were tested on these databases and depend on how each of them locks.
pub trait Database: Dialect {}
