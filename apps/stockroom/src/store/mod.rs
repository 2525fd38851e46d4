//! Tables in SQLite, MySQL/MariaDB or PostgreSQL: the only folder with SQL.
//!
//! Statements are written once, in the SQL that all three share; [`database`] has the differences. The statements of the strategies,
//! which run within their transactions, are in [`tables`]; [`Store`] has the others.

mod audit;
pub(crate) mod database;
mod error;
mod payments;
mod queries;
mod records;
pub(crate) mod tables;

pub use audit::{Audit, Violation};
pub use error::StoreError;
pub use payments::{OrderEvent, PayError, Payment, PaymentState};
pub(crate) use payments::{Overdue, PayRequest, SEARCH_MAX};
pub use records::{Arrival, ArrivalFilter, Order, OrderState, Page, Product};

use crate::domain::{PageRequest, ProductName};
use database::{Dialect, Pools, mysql, postgres, sqlite};
use evenkeel::clock::Clock;
use std::sync::Arc;
use web::probes::WriteProbe;
use web::{DatabaseUrl, signed};

/// The tables of one database. Cheap to clone; several instances may share a database server.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    connection: Connection,
    clock: Clock,
    write_probe: WriteProbe,
}

/// The pools of one kind of database.
pub(crate) enum Connection {
    Sqlite(Pools<sqlx::Sqlite>),
    Mysql(Pools<sqlx::MySql>),
    Postgres(Pools<sqlx::Postgres>),
}

/// Evaluates a generic expression with the pools of the store's database.
macro_rules! with_pools {
    ($store:expr, $pools:ident => $body:expr) => {
        match $store.connection() {
            $crate::store::Connection::Sqlite($pools) => $body,
            $crate::store::Connection::Mysql($pools) => $body,
            $crate::store::Connection::Postgres($pools) => $body,
        }
    };
}
pub(crate) use with_pools;

impl Store {
    /// Connects, and upgrades the schema of this program and of the library (fencing tokens).
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database is unreachable, [`StoreError::NewerSchema`] if a newer version of this program has
    /// upgraded the schema.
    pub async fn open(url: &DatabaseUrl, clock: Clock) -> Result<Self, StoreError> {
        let connection = match url {
            DatabaseUrl::Sqlite(path) => Connection::Sqlite(sqlite::open(path).await?),
            DatabaseUrl::Mysql(url) => Connection::Mysql(mysql::open(url).await?),
            DatabaseUrl::Postgres(url) => Connection::Postgres(postgres::open(url).await?),
        };
        let store = Self(Arc::new(Inner { connection, clock, write_probe: WriteProbe::default() }));
        with_pools!(store, pools => evenkeel::sql::migrate(&pools.writer).await)?;
        Ok(store)
    }

    /// Adds a product without stock.
    ///
    /// # Errors
    /// [`StoreError::NameTaken`]; [`StoreError::Unavailable`].
    pub async fn add_product(&self, name: &ProductName) -> Result<Product, StoreError> {
        with_pools!(self, pools => records::insert_product(pools, name).await)
    }

    /// The product with this name.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn product_named(&self, name: &ProductName) -> Result<Option<Product>, StoreError> {
        with_pools!(self, pools => queries::product_named(pools, name).await)
    }

    /// The product with this number.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn product(&self, id: i64) -> Result<Option<Product>, StoreError> {
        with_pools!(self, pools => queries::product(pools, id).await)
    }

    /// One page of the products with their stock, by name.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn products(&self, page: PageRequest) -> Result<Page<Product>, StoreError> {
        with_pools!(self, pools => queries::products(pools, page).await)
    }

    /// A page of arrivals, newest first.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn arrivals(&self, filter: &ArrivalFilter, page: PageRequest) -> Result<Page<Arrival>, StoreError> {
        with_pools!(self, pools => queries::arrivals(pools, filter, page).await)
    }

    /// The order with this id.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn order(&self, id: &str) -> Result<Option<Order>, StoreError> {
        with_pools!(self, pools => queries::order(pools, id).await)
    }

    /// The newest orders, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn orders(&self, limit: u32) -> Result<Vec<Order>, StoreError> {
        with_pools!(self, pools => queries::orders(pools, limit).await)
    }

    /// Audits a product in one snapshot of the database; see [`Audit`].
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn audit(&self, commodity: i64, cap: i64) -> Result<Audit, StoreError> {
        with_pools!(self, pools => audit::audit(pools, commodity, cap).await)
    }

    /// Checks that the database responds.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn ping(&self) -> Result<(), StoreError> {
        with_pools!(self, pools => queries::ping(pools).await)
    }

    /// Checks that the database accepts a write: one that answers queries may have a full disk, or be read-only after a failover. Writes
    /// at most once a second, and does not wait for a database that is busy.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn try_write(&self) -> Result<(), StoreError> {
        let now = self.signed_now_ms();
        let write = async { with_pools!(self, pools => records::try_write(pools, now).await) };
        self.0.write_probe.check(write).await
    }

    /// Closes the connections. On SQLite, this also checkpoints the write-ahead log.
    pub async fn close(&self) {
        with_pools!(self, pools => pools.close().await);
    }

    /// The pools, for the strategies.
    pub(crate) fn connection(&self) -> &Connection {
        &self.0.connection
    }

    /// The current time, in milliseconds since 1970.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.0.clock.unix_ms()
    }

    /// The current time, as SQL stores it.
    pub(crate) fn signed_now_ms(&self) -> i64 {
        signed(self.now_ms())
    }
}

/// A connection for queries.
pub(crate) async fn reader<DB: Dialect>(pools: &Pools<DB>) -> Result<sqlx::pool::PoolConnection<DB>, StoreError> {
    Ok(pools.reader.acquire().await?)
}
