//! Tables in SQLite, MySQL/MariaDB or PostgreSQL: the only folder with SQL.
//!
//! Statements are written once, in what all three understand; [`words`] has the few words in which they differ. What the
//! strategies do within a transaction is in [`stocks`], [`segments`] and [`ledger`]; the rest is read and written by [`Store`].

mod audit;
mod error;
mod goods;
pub(crate) mod ledger;
mod mysql;
mod open;
mod postgres;
mod read;
pub(crate) mod segments;
mod sqlite;
pub(crate) mod stocks;
pub(crate) mod words;

pub use audit::{Audit, Violation};
pub use error::StoreError;
pub use goods::{Arrival, ArrivalsWanted, Listed, Order, OrderState, Product};

use crate::domain::{Name, PageRequest};
use evenkeel::clock::Clock;
use std::sync::Arc;
use web::DatabaseUrl;
use words::{Pools, Words};

/// The tables of one database. Cheap to clone; any number of instances may share a database server.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    connection: Connection,
    clock: Clock,
}

/// The pools of one kind of database.
pub(crate) enum Connection {
    Sqlite(Pools<sqlx::Sqlite>),
    Mysql(Pools<sqlx::MySql>),
    Postgres(Pools<sqlx::Postgres>),
}

/// Calls one generic piece of code with the pools of whichever database this store has.
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
    /// Connects and brings the tables up to date: this program's own, and those of the library (fences).
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database cannot be reached, [`StoreError::NewerSchema`] if a newer version of this
    /// program has changed it.
    pub async fn open(url: &DatabaseUrl, clock: Clock) -> Result<Self, StoreError> {
        let connection = match url {
            DatabaseUrl::Sqlite(path) => Connection::Sqlite(sqlite::open(path).await?),
            DatabaseUrl::Mysql(url) => Connection::Mysql(mysql::open(url, &clock).await?),
            DatabaseUrl::Postgres(url) => Connection::Postgres(postgres::open(url, &clock).await?),
        };
        let store = Self(Arc::new(Inner { connection, clock }));
        with_pools!(store, pools => evenkeel::sql::migrate(&pools.writer).await).map_err(StoreError::Library)?;
        Ok(store)
    }

    /// Adds a product without stock.
    ///
    /// # Errors
    /// [`StoreError::NameTaken`]; [`StoreError::Unavailable`].
    pub async fn add_product(&self, name: &Name) -> Result<Product, StoreError> {
        with_pools!(self, pools => goods::add(pools, name).await)
    }

    /// The product of this name.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn product_named(&self, name: &Name) -> Result<Option<Product>, StoreError> {
        with_pools!(self, pools => read::product_named(pools, name).await)
    }

    /// The product of this number.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn product(&self, id: i64) -> Result<Option<Product>, StoreError> {
        with_pools!(self, pools => read::product(pools, id).await)
    }

    /// One page of the products with their stock, by name.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn products(&self, page: PageRequest) -> Result<Listed<Product>, StoreError> {
        with_pools!(self, pools => read::products(pools, page).await)
    }

    /// A page of arrivals, newest first.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn arrivals(&self, wanted: &ArrivalsWanted, page: PageRequest) -> Result<Listed<Arrival>, StoreError> {
        with_pools!(self, pools => read::arrivals(pools, wanted, page).await)
    }

    /// The order of this id.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn order(&self, id: &str) -> Result<Option<Order>, StoreError> {
        with_pools!(self, pools => read::order(pools, id).await)
    }

    /// The newest orders, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn orders(&self, limit: u32) -> Result<Vec<Order>, StoreError> {
        with_pools!(self, pools => read::orders(pools, limit).await)
    }

    /// Compares what the tables say of a product's stock with each other and with the rule; see [`Audit`].
    ///
    /// Exact while nothing changes the product; a change under way is taken whole or not at all where the database gives a
    /// snapshot (all of them do).
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn audit(&self, commodity: i64, cap: i64) -> Result<Audit, StoreError> {
        with_pools!(self, pools => audit::audit(pools, commodity, cap).await)
    }

    /// Asks the database for a sign of life.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn ping(&self) -> Result<(), StoreError> {
        with_pools!(self, pools => read::ping(pools).await)
    }

    /// Closes the connections; for SQLite also folds the write-ahead log into the file.
    pub async fn close(&self) {
        with_pools!(self, pools => pools.close().await);
    }

    /// The pools, for the strategies.
    pub(crate) fn connection(&self) -> &Connection {
        &self.0.connection
    }

    /// Now, in milliseconds since 1970.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.0.clock.unix_ms()
    }
}

/// A connection for reading.
pub(crate) async fn reader<DB: Words>(pools: &Pools<DB>) -> Result<sqlx::pool::PoolConnection<DB>, StoreError> {
    Ok(pools.reader.acquire().await?)
}
