//! Links in SQLite, MySQL/MariaDB or PostgreSQL: the only module with SQL.
//!
//! [`Store`] reads and [`Writer`] changes. Each change is one unit of work with its effects ([`ChangeHook`]). `database` has one file per
//! database with the SQL that differs; `statements` has the SQL that they share.

mod address;
mod apply;
mod clicks;
mod conflicts;
mod database;
mod error;
mod hook;
mod import;
mod rows;
mod sequence;
mod statements;
mod writer;

pub(crate) use address::fingerprint;
pub use apply::{Applied, SpooledWrite};
pub use clicks::ClickDelta;
pub use conflicts::{ConflictDetails, RecordedConflict};
pub use error::StoreError;
pub use hook::{Change, ChangeHook};
pub use import::{Checkpoint, ImportLog, ImportRow, RowOutcome};
pub use web::{DatabaseUrl, DatabaseUrlError};
pub use writer::{Committed, ExpiryOutcome, Writer};

use crate::codes::{CODES, CodeGenerator, Key};
use crate::domain::{Code, Link, Page, PageRequest};
use database::{Dialect, Pools, Schema, mysql, postgres, sqlite};
use evenkeel::clock::Clock;
use jiff::Timestamp;
use sequence::CodeSequence;
use std::sync::Arc;
use web::probes::WriteProbe;
use web::{signed, timestamp};

/// Attempts to find a free generated code. An attempt meets a taken code with a probability of (aliases of seven characters / 62^7),
/// so reaching the limit means a defect.
const CODE_ATTEMPTS_MAX: u32 = 64;

/// The row of `link_settings` with the permutation's key.
const KEY_SETTING: &str = "code_key";

/// The links of one database. Cheap to clone; any number of instances may share the database.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    connection: Connection,
    codes: CodeGenerator,
    sequence: CodeSequence,
    clock: Clock,
    write_probe: WriteProbe,
}

/// The pools of the configured database.
enum Connection {
    Sqlite(Pools<sqlx::Sqlite>),
    Mysql(Pools<sqlx::MySql>),
    Postgres(Pools<sqlx::Postgres>),
}

/// Runs generic code with the pools of the configured database.
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
    /// Connects, upgrades the schema, and reads the key of the codes, which is generated on first use.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the database cannot be reached, [`StoreError::NewerSchema`] if a newer version of this
    /// program has upgraded it.
    pub async fn open(url: &DatabaseUrl, clock: Clock) -> Result<Self, StoreError> {
        Self::open_with(url, clock, Schema::Upgrade).await
    }

    /// Connects for reading, without upgrading the schema, because a service may be using the database.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]; [`StoreError::NewerSchema`] or [`StoreError::OlderSchema`] if this program cannot read it.
    pub async fn open_as_is(url: &DatabaseUrl, clock: Clock) -> Result<Self, StoreError> {
        Self::open_with(url, clock, Schema::AsIs).await
    }

    /// A store for a database that is unreachable: every call fails at once with [`StoreError::Unavailable`].
    pub async fn unreachable(clock: Clock) -> Self {
        let connection = Connection::Sqlite(sqlite::closed().await);
        // No sequence number can be reserved here, so the key is never used.
        let codes = CodeGenerator::new(Key::random());
        Self(Arc::new(Inner {
            connection,
            codes,
            sequence: CodeSequence::default(),
            clock,
            write_probe: WriteProbe::default(),
        }))
    }

    /// The link of `code`, expired or not.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn find(&self, code: &Code) -> Result<Option<Link>, StoreError> {
        Ok(self.find_many(std::slice::from_ref(code)).await?.pop())
    }

    /// The links with these codes, in no particular order.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn find_many(&self, codes: &[Code]) -> Result<Vec<Link>, StoreError> {
        with_database!(self, pools => pools.find_many(codes).await)
    }

    /// One page of the links, newest first. A search scans the table.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn list(&self, request: &PageRequest) -> Result<Page, StoreError> {
        with_database!(self, pools => statements::page(pools, request).await)
    }

    /// Up to `limit` links with a row number above `after` (start with 0), ordered by row number, each with its number.
    ///
    /// Not a snapshot: a walk over all rows returns every link that exists from its beginning to its end, and some of those created
    /// or deleted meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn rows_after(&self, after: i64, limit: u32) -> Result<Vec<(i64, Link)>, StoreError> {
        with_database!(self, pools => statements::rows_after(pools, after, limit, None).await)
    }

    /// As [`rows_after`](Self::rows_after), but only links that expire after `now`.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn ending_after(&self, now: Timestamp, after: i64, limit: u32) -> Result<Vec<(i64, Link)>, StoreError> {
        let ending_after = Some(now.as_millisecond());
        with_database!(self, pools => statements::rows_after(pools, after, limit, ending_after).await)
    }

    /// The checkpoint of an interrupted import of `source`.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn checkpoint(&self, source: &str) -> Result<Option<Checkpoint>, StoreError> {
        let state = with_database!(self, pools => statements::checkpoint(pools, source).await)?;
        Ok(state.map(|state| Checkpoint { source: source.to_owned(), state }))
    }

    /// Deletes the checkpoint of a completed import.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn delete_checkpoint(&self, source: &str) -> Result<(), StoreError> {
        with_database!(self, pools => statements::delete_checkpoint(pools, source).await)
    }

    /// Checks that the database answers a query.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn ping(&self) -> Result<(), StoreError> {
        with_database!(self, pools => statements::ping(pools).await)
    }

    /// Checks that the database accepts a write: one that answers queries may have a full disk, or be read-only after a failover. Writes
    /// at most once a second, and does not wait for a database that is busy.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn try_write(&self) -> Result<(), StoreError> {
        let now_ms = self.now().as_millisecond();
        let write = async { with_database!(self, pools => statements::try_write(pools, now_ms).await) };
        self.0.write_probe.check(write).await
    }

    /// The kind of database: `sqlite`, `mysql` or `postgres`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.0.connection {
            Connection::Sqlite(_) => "sqlite",
            Connection::Mysql(_) => "mysql",
            Connection::Postgres(_) => "postgres",
        }
    }

    /// The code generator with this database's key.
    #[must_use]
    pub fn code_generator(&self) -> &CodeGenerator {
        &self.0.codes
    }

    /// A name that identifies this database (its first generated code), so that several databases can share a Redis.
    #[must_use]
    pub fn name(&self) -> String {
        (0..CODES).find_map(|number| self.0.codes.code(number)).map(|code| code.to_string()).unwrap_or_default()
    }

    /// Closes the connections; for SQLite also folds the write-ahead log into the file.
    pub async fn close(&self) {
        with_database!(self, pools => pools.close().await);
    }

    /// The next generated code. No other instance gets the same code.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the reserved numbers are used up and no more can be reserved; [`StoreError::CodesExhausted`].
    pub async fn next_code(&self) -> Result<Code, StoreError> {
        with_database!(self, pools => self.next_code_in(pools).await)
    }

    /// The current time of the store's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        timestamp(signed(self.0.clock.unix_ms()))
    }

    async fn open_with(url: &DatabaseUrl, clock: Clock, schema: Schema) -> Result<Self, StoreError> {
        let connection = match url {
            DatabaseUrl::Sqlite(path) => Connection::Sqlite(sqlite::open(path, schema).await?),
            DatabaseUrl::Mysql(url) => Connection::Mysql(mysql::open(url, schema).await?),
            DatabaseUrl::Postgres(url) => Connection::Postgres(postgres::open(url, schema).await?),
        };
        let key = match &connection {
            Connection::Sqlite(pools) => prepare(pools, schema).await?,
            Connection::Mysql(pools) => prepare(pools, schema).await?,
            Connection::Postgres(pools) => prepare(pools, schema).await?,
        };
        Ok(Self(Arc::new(Inner {
            connection,
            codes: CodeGenerator::new(key),
            sequence: CodeSequence::default(),
            clock,
            write_probe: WriteProbe::default(),
        })))
    }

    fn connection(&self) -> &Connection {
        &self.0.connection
    }

    /// Skips numbers whose code is a reserved word.
    async fn next_code_in<DB: Dialect>(&self, pools: &Pools<DB>) -> Result<Code, StoreError> {
        loop {
            let number = self.0.sequence.next(pools).await?;
            if let Some(code) = self.0.codes.code(number) {
                return Ok(code);
            }
        }
    }
}

/// Creates or upgrades the tables of the library, and returns the key of the codes. Of several instances that start at once, the
/// first stores the key and the others read it.
async fn prepare<DB: Dialect>(pools: &Pools<DB>, schema: Schema) -> Result<Key, StoreError> {
    if schema == Schema::Upgrade {
        evenkeel::sql::migrate(&pools.writers).await?;
    }
    let stored = statements::setting_or_insert(pools, KEY_SETTING, &Key::random().to_hex()).await?;
    Key::from_hex(&stored).ok_or_else(|| StoreError::Corrupt(format!("the setting {KEY_SETTING:?} is not a key")))
}
