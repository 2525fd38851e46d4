//! Links in SQLite, MySQL/MariaDB or PostgreSQL: the only folder with SQL.
//!
//! What the databases do their own way is behind [`database::Database`], one file for each; what the service needs of them is
//! written once, in [`Store`], in terms of it.

mod checkpoint;
mod database;
mod error;
mod import;
mod mysql;
mod numbers;
mod postgres;
mod rows;
mod schema;
mod sqlite;

pub use checkpoint::Checkpoint;
pub use error::StoreError;
pub use import::{ImportLog, ImportRow, RowOutcome};
pub use web::{DatabaseUrl, DatabaseUrlRefused};

use crate::codes::{CODES, CodeMaker, Key};
use crate::domain::{Code, Link, LinkPatch, NewLink, Page, PageRequest};
use database::{Database, Transaction};
use evenkeel::clock::Clock;
use jiff::Timestamp;
use numbers::Numbers;
use rows::whole_ms;
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

/// One pool per kind of database.
enum Connection {
    Sqlite(sqlite::Sqlite),
    Mysql(mysql::Mysql),
    Postgres(postgres::Postgres),
}

/// Calls one generic piece of code with whichever database this store has.
macro_rules! with_database {
    ($store:expr, $database:ident => $body:expr) => {
        match &$store.0.connection {
            Connection::Sqlite($database) => $body,
            Connection::Mysql($database) => $body,
            Connection::Postgres($database) => $body,
        }
    };
}

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

    /// Makes a link.
    ///
    /// # Errors
    /// [`StoreError::AliasTaken`]; [`StoreError::Unavailable`] (whether the link was made is then unknown, see
    /// [`StoreError::outcome_unknown`]).
    pub async fn create(&self, new: NewLink) -> Result<Link, StoreError> {
        with_database!(self, database => self.create_in(database, new).await)
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
        with_database!(self, database => database.find_many(codes).await)
    }

    /// Changes a link; `None` if there is none. With `expected`, only if the link still has that version.
    ///
    /// # Errors
    /// [`StoreError::VersionConflict`] if it has another; [`StoreError::Unavailable`].
    pub async fn patch(
        &self,
        code: &Code,
        patch: LinkPatch,
        expected: Option<i64>,
    ) -> Result<Option<Link>, StoreError> {
        with_database!(self, database => self.patch_in(database, code, patch, expected).await)
    }

    /// Deletes a link; answers whether there was one. With `expected`, only if it still has that version.
    ///
    /// # Errors
    /// [`StoreError::VersionConflict`] if it has another; [`StoreError::Unavailable`].
    pub async fn delete(&self, code: &Code, expected: Option<i64>) -> Result<bool, StoreError> {
        let is_deleted = with_database!(self, database => database.delete(code, expected).await)?;
        if is_deleted || expected.is_none() {
            return Ok(is_deleted);
        }
        match self.find(code).await? {
            Some(link) => Err(StoreError::VersionConflict { current: link.version }),
            None => Ok(false),
        }
    }

    /// One page of the links, newest first. A search walks over the table: its cost grows with the number of links.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn list(&self, request: &PageRequest) -> Result<Page, StoreError> {
        with_database!(self, database => database.page(request).await)
    }

    /// Up to `limit` links with a row number above `after` (begin with 0), in the order of row numbers, each with its number.
    ///
    /// Not guaranteed: a snapshot. A walk over all rows gives every link that was there before it began and was not deleted
    /// since; of links made meanwhile, some.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn rows_after(&self, after: i64, limit: u32) -> Result<Vec<(i64, Link)>, StoreError> {
        with_database!(self, database => database.rows_after(after, limit).await)
    }

    /// As [`rows_after`](Self::rows_after), of the links only that end after `now`.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn ending_after(&self, now: Timestamp, after: i64, limit: u32) -> Result<Vec<(i64, Link)>, StoreError> {
        with_database!(self, database => database.ending_after(now.as_millisecond(), after, limit).await)
    }

    /// Takes rows of an import, all in one transaction. The answers are in the order of the rows. A row is already there if its
    /// code, else its target, is; imports of several processes take turns, so none of two equal rows is added twice.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: nothing of it was taken, or all of it; a repeat finds out.
    pub async fn import(&self, rows: &[ImportRow]) -> Result<Vec<RowOutcome>, StoreError> {
        with_database!(self, database => import::import(self, database, rows, None).await)
    }

    /// As [`Store::import`], together with the checkpoint that `log` answers.
    ///
    /// # Errors
    /// [`StoreError::Log`] if it answers none: nothing was taken then. Otherwise as [`Store::import`].
    pub async fn import_logged(
        &self,
        rows: &[ImportRow],
        log: &mut dyn ImportLog,
    ) -> Result<Vec<RowOutcome>, StoreError> {
        with_database!(self, database => import::import(self, database, rows, Some(log)).await)
    }

    /// Where an interrupted import of `source` stood.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn checkpoint(&self, source: &str) -> Result<Option<Checkpoint>, StoreError> {
        let state = with_database!(self, database => database.checkpoint(source).await)?;
        Ok(state.map(|state| Checkpoint { source: source.to_owned(), state }))
    }

    /// Forgets where an import stood: it is complete.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn forget_checkpoint(&self, source: &str) -> Result<(), StoreError> {
        with_database!(self, database => database.forget_checkpoint(source).await)
    }

    /// Asks the database for a sign of life.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub async fn ping(&self) -> Result<(), StoreError> {
        with_database!(self, database => database.ping().await)
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
        with_database!(self, database => database.close().await);
    }

    async fn open_with(url: &DatabaseUrl, clock: Clock, schema: Schema) -> Result<Self, StoreError> {
        let connection = match url {
            DatabaseUrl::Sqlite(path) => Connection::Sqlite(sqlite::Sqlite::open(path, schema).await?),
            DatabaseUrl::Mysql(url) => Connection::Mysql(mysql::Mysql::open(url, &clock, schema).await?),
            DatabaseUrl::Postgres(url) => Connection::Postgres(postgres::Postgres::open(url, &clock, schema).await?),
        };
        let key = match &connection {
            Connection::Sqlite(database) => code_key(database).await?,
            Connection::Mysql(database) => code_key(database).await?,
            Connection::Postgres(database) => code_key(database).await?,
        };
        Ok(Self(Arc::new(Inner { connection, codes: CodeMaker::new(key), numbers: Numbers::default(), clock })))
    }

    async fn create_in(&self, database: &impl Database, new: NewLink) -> Result<Link, StoreError> {
        let now = self.now();
        let mut link = Link {
            alias: new.alias.is_some(),
            code: match new.alias {
                Some(alias) => alias,
                None => self.next_code(database).await?,
            },
            target: new.target,
            created_at: now,
            updated_at: now,
            expires_at: new.expires_at.map(whole_ms),
            version: version_after(None, now),
        };
        for _ in 0..CODE_ATTEMPTS_MAX {
            match database.insert(&link).await {
                Ok(()) => return Ok(link),
                Err(StoreError::Duplicate) if link.alias => return Err(StoreError::AliasTaken(link.code)),
                // An alias or an imported code stands where the sequence arrived: the next number will do.
                Err(StoreError::Duplicate) => link.code = self.next_code(database).await?,
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::CodesExhausted)
    }

    async fn patch_in(
        &self,
        database: &impl Database,
        code: &Code,
        patch: LinkPatch,
        expected: Option<i64>,
    ) -> Result<Option<Link>, StoreError> {
        let mut transaction = database.begin().await?;
        let Some(mut link) = transaction.find_locked(code).await? else { return Ok(None) };
        if expected.is_some_and(|version| version != link.version) {
            return Err(StoreError::VersionConflict { current: link.version });
        }
        let now = self.now();
        link.target = patch.target.unwrap_or(link.target);
        link.expires_at = patch.expires_at.unwrap_or(link.expires_at).map(whole_ms);
        link.version = version_after(Some(link.version), now);
        link.updated_at = now;
        transaction.update(&link).await?;
        transaction.commit().await?;
        Ok(Some(link))
    }

    /// The next generated code; numbers whose code is a reserved word are passed over.
    async fn next_code(&self, database: &impl Database) -> Result<Code, StoreError> {
        loop {
            let number = self.0.numbers.next(database).await?;
            if let Some(code) = self.0.codes.code(number) {
                return Ok(code);
            }
        }
    }

    fn now(&self) -> Timestamp {
        let ms = i64::try_from(self.0.clock.unix_ms()).unwrap_or(i64::MAX);
        Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
    }
}

/// See [`Link::version`].
fn version_after(previous: Option<i64>, now: Timestamp) -> i64 {
    previous.map_or(0, |version| version.saturating_add(1)).max(now.as_microsecond())
}

/// The key of this database's codes. Drawn once; whoever comes second takes the first one's.
async fn code_key(database: &impl Database) -> Result<Key, StoreError> {
    let stored = database.setting_or_insert(KEY_SETTING, &Key::random().to_hex()).await?;
    Key::from_hex(&stored).ok_or_else(|| StoreError::Corrupt(format!("the setting {KEY_SETTING:?} is not a key")))
}
