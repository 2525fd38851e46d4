//! [`Database`]: a pool of any of the three databases.

use crate::address::{Address, Kind};
use anyhow::{Result, anyhow};
use evenkeel::sql::{SqlError, check_schema};
use sqlx::pool::PoolOptions;
use sqlx::{MySql, Pool, Postgres, Sqlite};
use std::time::Duration;

/// Connections of a pool that opens them when they are needed.
const CONNECTIONS: u32 = 4;
/// How long a connection may take.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// A database of one of the three kinds.
pub(crate) enum Database {
    MySql(Pool<MySql>),
    Postgres(Pool<Postgres>),
    Sqlite(Pool<Sqlite>),
}

/// Runs the same expression on the pool of any database.
macro_rules! on {
    ($database:expr, $pool:ident => $run:expr) => {
        match $database {
            $crate::database::Database::MySql($pool) => $run,
            $crate::database::Database::Postgres($pool) => $run,
            $crate::database::Database::Sqlite($pool) => $run,
        }
    };
}
pub(crate) use on;

impl Database {
    /// A pool that connects when it is first used.
    pub(crate) fn open(address: &Address) -> Result<Self> {
        Ok(match address.kind {
            Kind::MySql => Self::MySql(options(CONNECTIONS).connect_lazy(&address.url)?),
            Kind::Postgres => Self::Postgres(options(CONNECTIONS).connect_lazy(&address.url)?),
            _ => Self::Sqlite(options(CONNECTIONS).connect_lazy(&address.url)?),
        })
    }

    /// A pool of one connection.
    pub(crate) async fn connect(address: &Address) -> Result<Self> {
        let connected = match address.kind {
            Kind::MySql => options(1).connect(&address.url).await.map(Self::MySql),
            Kind::Postgres => options(1).connect(&address.url).await.map(Self::Postgres),
            _ => options(1).connect(&address.url).await.map(Self::Sqlite),
        };
        connected.map_err(|error| anyhow!("cannot connect to {}: {}", address.shown, SqlError::from(error)))
    }

    /// An error unless the tables are those that this program knows: it must not write to others.
    pub(crate) async fn check_schema(&self) -> Result<(), SqlError> {
        on!(self, pool => check_schema(pool).await)
    }
}

fn options<DB: sqlx::Database>(connections: u32) -> PoolOptions<DB> {
    PoolOptions::new().max_connections(connections).acquire_timeout(CONNECT_MAX)
}
