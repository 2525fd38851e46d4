//! Links in SQLite, MySQL/MariaDB or PostgreSQL: the only folder with SQL.
//!
//! [`Store`] reads, [`Writer`] changes: each change is one unit of work with what must follow it ([`Follow`]). What the databases do
//! their own way is behind `dialect`, one file for each; everything else is written once, in `statements`, in terms of it.

mod address;
mod checkpoint;
mod conflicts;
mod dialect;
mod error;
mod follow;
mod import;
mod mysql;
mod numbers;
mod pools;
mod postgres;
mod rows;
mod schema;
mod settle;
mod sqlite;
mod statements;
mod writer;

pub(crate) use address::fingerprint;
pub use checkpoint::Checkpoint;
pub use conflicts::{KeptConflict, Told};
pub use error::StoreError;
pub use follow::{Change, Follow};
pub use import::{ImportLog, ImportRow, RowOutcome};
pub use settle::{Settled, Waiting};
pub use web::{DatabaseUrl, DatabaseUrlError};
pub use writer::{Committed, Ended, Writer};

use crate::codes::{CODES, CodeMaker, Key};
use crate::domain::{Code, Link, Page, PageRequest};
use dialect::Dialect;
use evenkeel::clock::Clock;
use jiff::Timestamp;
use numbers::Numbers;
use pools::Pools;
use schema::Schema;
use std::sync::Arc;

/// How often a generated code may meet one that is taken before something must be wrong. Each attempt meets an alias with a
/// chance of (aliases of seven characters / 62^7).
const CODE_ATTEMPTS_MAX: u32 = 64;

/// The setting that holds the permutation's key.
const KEY_SETTING: &str = "code_key";

/// The links of one database. Cheap to clone; any number of instances may share the database.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    connection: Connection,
    codes: CodeMaker,
    numbers: Numbers,
    clock: Clock,
}

/// The pools of whichever database it is.
enum Connection {
    Sqlite(Pools<sqlx::Sqlite>),
    Mysql(Pools<sqlx::MySql>),
    Postgres(Pools<sqlx::Postgres>),
}

/// Calls one generic piece of code with the pools of whichever database this store has.
macro_rules! with_database {
    ($store:expr, $pools:ident => $body:expr) => {
        match $store.connection() {
            Connection::Sqlite($pools) => $body,
            Connection::Mysql($pools) => $body,
            Connection::Postgres($pools) => $body,
        }
    };
}
use with_database;

impl Store {
    /// Connects, brings the schema up to date, and reads (the first time: draws) the key of the codes.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database cannot be reached, [`StoreError::NewerSchema`] if a newer version of this
    /// program has changed it.
    pub async fn open(url: &DatabaseUrl, clock: Clock) -> Result<Self, StoreError> {
        Self::open_with(url, clock, Schema::Upgrade).await
    }

    /// Connects to a database that others may be using, to read from it: the schema stays as it is.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]; [`StoreError::NewerSchema`] or [`StoreError::OlderSchema`] if this program cannot read it.
    pub async fn open_as_is(url: &DatabaseUrl, clock: Clock) -> Result<Self, StoreError> {
        Self::open_with(url, clock, Schema::AsIs).await
    }

    /// Stands in for the store of a database that is away: whatever is asked of it fails at once, with
    /// [`StoreError::Unavailable`].
    pub async fn away(clock: Clock) -> Self {
        let connection = Connection::Sqlite(sqlite::closed().await);
        // No number is drawn here, so the key makes no code.
        let codes = CodeMaker::new(Key::random());
        Self(Arc::new(Inner { connection, codes, numbers: Numbers::default(), clock }))
    }

    /// The link of `code`, expired or not.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn find(&self, code: &Code) -> Result<Option<Link>, StoreError> {
        Ok(self.find_many(std::slice::from_ref(code)).await?.pop())
    }

    /// The links of those `codes` that have one, in no particular order.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn find_many(&self, codes: &[Code]) -> Result<Vec<Link>, StoreError> {
        with_database!(self, pools => pools.find_many(codes).await)
    }

    /// One page of the links, newest first. A search walks over the table: its cost grows with the number of links.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn list(&self, request: &PageRequest) -> Result<Page, StoreError> {
        with_database!(self, pools => pools.page(request).await)
    }

    /// Up to `limit` links with a row number above `after` (begin with 0), in the order of row numbers, each with its number.
    ///
    /// Not guaranteed: a snapshot. A walk over all rows gives every link that was there before it began and was not deleted
    /// since; of links made meanwhile, some.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn rows_after(&self, after: i64, limit: u32) -> Result<Vec<(i64, Link)>, StoreError> {
        with_database!(self, pools => pools.rows_after(after, limit, None).await)
    }

    /// As [`rows_after`](Self::rows_after), of the links only that end after `now`.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn ending_after(&self, now: Timestamp, after: i64, limit: u32) -> Result<Vec<(i64, Link)>, StoreError> {
        let ending_after = Some(now.as_millisecond());
        with_database!(self, pools => pools.rows_after(after, limit, ending_after).await)
    }

    /// Where an interrupted import of `source` stood.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn checkpoint(&self, source: &str) -> Result<Option<Checkpoint>, StoreError> {
        let state = with_database!(self, pools => pools.checkpoint(source).await)?;
        Ok(state.map(|state| Checkpoint { source: source.to_owned(), state }))
    }

    /// Forgets where an import stood: it is complete.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn forget_checkpoint(&self, source: &str) -> Result<(), StoreError> {
        with_database!(self, pools => pools.forget_checkpoint(source).await)
    }

    /// Asks the database for a sign of life.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn ping(&self) -> Result<(), StoreError> {
        with_database!(self, pools => pools.ping().await)
    }

    /// Which kind of database it is: `sqlite`, `mysql` or `postgres`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.0.connection {
            Connection::Sqlite(_) => "sqlite",
            Connection::Mysql(_) => "mysql",
            Connection::Postgres(_) => "postgres",
        }
    }

    /// How this database turns numbers into codes.
    #[must_use]
    pub fn code_maker(&self) -> &CodeMaker {
        &self.0.codes
    }

    /// Tells this database from every other that this program has made (its codes begin with this one), so that what several of
    /// them share, such as a Redis, can keep them apart.
    #[must_use]
    pub fn name(&self) -> String {
        (0..CODES).find_map(|number| self.0.codes.code(number)).map(|code| code.to_string()).unwrap_or_default()
    }

    /// Closes the connections; for SQLite also folds the write-ahead log into the file.
    pub async fn close(&self) {
        with_database!(self, pools => pools.close().await);
    }

    /// The next generated code, which nobody else gets.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`], if the numbers that were taken beforehand are used up; [`StoreError::CodesExhausted`].
    pub async fn next_code(&self) -> Result<Code, StoreError> {
        with_database!(self, pools => self.next_code_in(pools).await)
    }

    /// Now, as the store sees it.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let ms = i64::try_from(self.0.clock.unix_ms()).unwrap_or(i64::MAX);
        Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
    }

    async fn open_with(url: &DatabaseUrl, clock: Clock, schema: Schema) -> Result<Self, StoreError> {
        let connection = match url {
            DatabaseUrl::Sqlite(path) => Connection::Sqlite(sqlite::open(path, schema).await?),
            DatabaseUrl::Mysql(url) => Connection::Mysql(mysql::open(url, schema).await?),
            DatabaseUrl::Postgres(url) => Connection::Postgres(postgres::open(url, schema).await?),
        };
        let key = match &connection {
            Connection::Sqlite(pools) => prepared(pools, schema).await?,
            Connection::Mysql(pools) => prepared(pools, schema).await?,
            Connection::Postgres(pools) => prepared(pools, schema).await?,
        };
        Ok(Self(Arc::new(Inner { connection, codes: CodeMaker::new(key), numbers: Numbers::default(), clock })))
    }

    fn connection(&self) -> &Connection {
        &self.0.connection
    }

    /// Numbers whose code is a reserved word are passed over.
    async fn next_code_in<DB: Dialect>(&self, pools: &Pools<DB>) -> Result<Code, StoreError> {
        loop {
            let number = self.0.numbers.next(pools).await?;
            if let Some(code) = self.0.codes.code(number) {
                return Ok(code);
            }
        }
    }
}

/// The library's tables, too; and the key of this database's codes. It is drawn once; whoever comes second takes the first one's.
async fn prepared<DB: Dialect>(pools: &Pools<DB>, schema: Schema) -> Result<Key, StoreError> {
    if schema == Schema::Upgrade {
        pools.migrate().await?;
    }
    let stored = pools.setting_or_insert(KEY_SETTING, &Key::random().to_hex()).await?;
    Key::from_hex(&stored).ok_or_else(|| StoreError::Corrupt(format!("the setting {KEY_SETTING:?} is not a key")))
}
