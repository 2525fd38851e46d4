//! A pool of any of the databases, and the connections that it lends.

use super::dialect::Dialect;
use super::driver::Connection;
#[cfg(all(feature = "lock", any(feature = "mysql", feature = "postgres", feature = "sqlite")))]
use sqlx::ConnectOptions;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
use sqlx::pool::PoolConnection;
use std::ops::{Deref, DerefMut};
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
use std::sync::Arc;

/// A pool of any of the databases. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Pool {
    /// Of MySQL or MariaDB.
    #[cfg(feature = "mysql")]
    MySql(sqlx::MySqlPool),
    /// Of PostgreSQL.
    #[cfg(feature = "postgres")]
    Postgres(sqlx::PgPool),
    /// Of SQLite.
    #[cfg(feature = "sqlite")]
    Sqlite(sqlx::SqlitePool),
}

/// A connection of a pool, to which it returns.
pub(crate) enum PooledConnection {
    /// To MySQL or MariaDB.
    #[cfg(feature = "mysql")]
    MySql(PoolConnection<sqlx::MySql>),
    /// To PostgreSQL.
    #[cfg(feature = "postgres")]
    Postgres(PoolConnection<sqlx::Postgres>),
    /// To SQLite.
    #[cfg(feature = "sqlite")]
    Sqlite(PoolConnection<sqlx::Sqlite>),
}

/// The same expression for each of the databases.
macro_rules! each {
    ($kind:ident, $value:expr, ($($inner:tt)+) => $then:expr) => {
        match $value {
            #[cfg(feature = "mysql")]
            $kind::MySql($($inner)+) => $then,
            #[cfg(feature = "postgres")]
            $kind::Postgres($($inner)+) => $then,
            #[cfg(feature = "sqlite")]
            $kind::Sqlite($($inner)+) => $then,
        }
    };
}

/// The SQL of a connection's database.
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
fn dialect_of<DB: super::Typed>(_pool: &sqlx::Pool<DB>) -> &'static Dialect {
    DB::DIALECT
}

impl Pool {
    /// The SQL of its database.
    pub(crate) fn dialect(&self) -> &'static Dialect {
        each!(Pool, *self, (ref pool) => dialect_of(pool))
    }

    /// Takes a connection.
    pub(crate) async fn acquire(&self) -> Result<PooledConnection, sqlx::Error> {
        match *self {
            #[cfg(feature = "mysql")]
            Self::MySql(ref pool) => pool.acquire().await.map(PooledConnection::MySql),
            #[cfg(feature = "postgres")]
            Self::Postgres(ref pool) => pool.acquire().await.map(PooledConnection::Postgres),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(ref pool) => pool.acquire().await.map(PooledConnection::Sqlite),
        }
    }

    /// Identifies the pool: it has no name, but keeps its options as long as it lives, so their address is its own.
    pub(crate) fn place(&self) -> usize {
        each!(Pool, *self, (ref pool) => Arc::as_ptr(&pool.connect_options()) as usize)
    }

    /// How many connections it may have.
    #[cfg(feature = "lock")]
    pub(crate) fn connections_max(&self) -> u32 {
        each!(Pool, *self, (ref pool) => pool.options().get_max_connections())
    }

    /// Another pool to the same database, of one connection.
    #[cfg(feature = "lock")]
    pub(crate) fn apart(&self) -> Self {
        macro_rules! one {
            ($pool:expr) => {{
                let options = $pool.options().clone().min_connections(0).max_connections(1);
                options.connect_lazy_with((*$pool.connect_options()).clone())
            }};
        }
        match *self {
            #[cfg(feature = "mysql")]
            Self::MySql(ref pool) => Self::MySql(one!(pool)),
            #[cfg(feature = "postgres")]
            Self::Postgres(ref pool) => Self::Postgres(one!(pool)),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(ref pool) => Self::Sqlite(one!(pool)),
        }
    }

    /// Opens a connection that belongs to no pool. Dropping it closes it.
    #[cfg(feature = "lock")]
    pub(crate) async fn connect(&self) -> Result<Box<Connection>, sqlx::Error> {
        each!(Pool, *self, (ref pool) => Ok(Box::new(pool.connect_options().connect().await?) as Box<Connection>))
    }

    /// Calls `on_notification` once it listens, after each notification, and after each reconnection, because notifications may have been
    /// missed. Uses a connection of its own. Returns at once if the database has no notifications.
    #[cfg_attr(
        not(any(feature = "mysql", feature = "sqlite")),
        allow(irrefutable_let_patterns, reason = "there is no other database")
    )]
    pub(crate) async fn listen(&self, on_notification: &(dyn Fn() + Send + Sync)) -> Result<(), sqlx::Error> {
        #[cfg(feature = "postgres")]
        if let Self::Postgres(pool) = self {
            return super::postgres::listen(pool, on_notification).await;
        }
        let _ = on_notification;
        Ok(())
    }
}

impl PooledConnection {
    /// Closes the connection when it is dropped, instead of returning it to the pool.
    pub(crate) fn close_on_drop(&mut self) {
        each!(PooledConnection, *self, (ref mut connection) => connection.close_on_drop());
    }

    /// Closes the connection in order.
    pub(crate) async fn close(self) -> Result<(), sqlx::Error> {
        each!(PooledConnection, self, (connection) => connection.close().await)
    }
}

impl Deref for PooledConnection {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        each!(PooledConnection, *self, (ref connection) => &**connection)
    }
}

impl DerefMut for PooledConnection {
    fn deref_mut(&mut self) -> &mut Connection {
        each!(PooledConnection, *self, (ref mut connection) => &mut **connection)
    }
}
