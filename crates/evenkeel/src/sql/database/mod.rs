//! The databases behind one object, the driver of a connection: how a statement is sent, how a row is read, and the differences in SQL.
//! Only the types that programs see know which database they are of. Each database has its own file.

mod dialect;
mod driver;
#[cfg(feature = "mysql")]
mod mysql;
mod pool;
#[cfg(feature = "postgres")]
mod postgres;
mod row;
#[cfg(feature = "sqlite")]
mod sqlite;
mod statement;

pub(crate) use dialect::{Dialect, Kind, SqlErrorClass, Stores, class_of_error, is_done_already};
pub(crate) use driver::{Connection, Driver};
pub(crate) use pool::{Pool, PooledConnection};
pub(crate) use row::Row;
pub(crate) use statement::{LIST_MAX, Lists, Statement, Value, translate};

use std::any::Any;

/// A database that supports units of work: `sqlx::MySql` (MySQL 8 and MariaDB 10.6 or newer), `sqlx::Postgres` (14 or newer) and
/// `sqlx::Sqlite` (3.42 or newer), each behind the cargo feature of its name.
///
/// The trait is sealed: the promises were tested on these databases and depend on how each of them locks.
pub trait Database: Typed {}

/// What the library needs to know of the type of a database. It is public in name only: it seals the trait that programs see.
pub trait Typed: sqlx::Database<Connection: Driver> {
    /// Its SQL.
    const DIALECT: &'static Dialect;

    /// A pool of it, without its type.
    fn erased(pool: &sqlx::Pool<Self>) -> Pool;
}

/// The connection with the type of its database, for the statements of programs.
///
/// # Panics
/// If it is of another database, which the types that hold it rule out.
pub(crate) fn typed<DB: Database>(connection: &mut Connection) -> &mut DB::Connection {
    let connection: &mut dyn Any = connection;
    match connection.downcast_mut() {
        Some(connection) => connection,
        None => unreachable!("a connection of another database"),
    }
}
