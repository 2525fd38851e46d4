//! [`Work`]: a unit of work that owns its transaction.

use super::commit::{self, Committed};
use super::effects::Effects;
use super::notifier::WakeUp;
use crate::keel::Keel;
use crate::sql::database::Database;
use crate::sql::error::SqlError;
use crate::sql::outbox::{WorkId, rows};
use sqlx::{AssertSqlSafe, Pool, SqlSafeStr, Transaction};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A SQL transaction and the effects that must follow it; made by [`Keel::begin`].
///
/// Send your statements to [`tx`](Self::tx), note effects (it is used as [`Effects`]), then [`commit`](Self::commit). Dropped, it
/// is rolled back and nothing happens.
#[must_use = "a work that is dropped is rolled back"]
pub struct Work<DB: Database> {
    transaction: Transaction<'static, DB>,
    pool: Pool<DB>,
    effects: Effects,
    poison: Option<Arc<str>>,
}

impl Keel {
    /// Begins a unit of work: a transaction on a connection of `pool`, marked as this work's in the same round trip.
    ///
    /// [`migrate`](crate::sql::migrate) must have run.
    ///
    /// # Errors
    /// [`SqlError::Database`], [`SqlError::NotMigrated`]: nothing was begun.
    pub async fn begin<DB: Database>(&self, pool: &Pool<DB>) -> Result<Work<DB>, SqlError> {
        self.begin_with(pool, DB::BEGIN).await
    }

    /// When relays in other processes are told of what the units of work of this keel leave for them. Default:
    /// [`WakeUp::AfterCommit`].
    pub fn wake_relays(&self, when: WakeUp) {
        self.sql().set_wake_up(when);
    }

    /// Like [`begin`](Self::begin), with a statement of yours that begins the transaction, such as
    /// `BEGIN ISOLATION LEVEL SERIALIZABLE`.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub async fn begin_with<DB: Database>(
        &self,
        pool: &Pool<DB>,
        statement: impl SqlSafeStr,
    ) -> Result<Work<DB>, SqlError> {
        let work = WorkId::new(self.clock().unix_ms());
        // Found out once for each pool: a commit would find it out too, but late.
        let finisher = self.sql().finisher(pool, self.clock());
        if !finisher.has_tables() {
            let mut connection = pool.acquire().await.map_err(SqlError::of::<DB>)?;
            rows::look::<DB>(&mut connection).await.map_err(SqlError::of::<DB>)?;
            finisher.found_tables();
        }
        let transaction = pool.begin_with(marked::<DB>(statement, work)).await.map_err(SqlError::of::<DB>)?;
        Ok(Work { transaction, pool: pool.clone(), effects: Effects::new(self.clone(), work), poison: None })
    }
}

/// What begins the transaction, and the mark by which its end is noticed, in one message.
fn marked<DB: Database>(statement: impl SqlSafeStr, work: WorkId) -> AssertSqlSafe<String> {
    let statement = statement.into_sql_str();
    let begin = statement.as_str().trim_end_matches(|end: char| end == ';' || end.is_whitespace());
    let mark = DB::MARK.replace("{work}", &uuid::Uuid::from_bytes(work.0).simple().to_string());
    // On a line of its own: what begins the transaction may end with a comment.
    AssertSqlSafe(format!("{begin}\n; {mark}"))
}

impl<DB: Database> Work<DB> {
    /// The connection in its transaction: what a statement is executed on.
    ///
    /// Savepoints are made as ever (`work.tx().begin()`); the name `evenkeel_work` is taken. Do not end the transaction through it
    /// (`COMMIT`, `ROLLBACK`, on MySQL and MariaDB also what commits by itself, such as `CREATE TABLE`): the commit finds that out
    /// and fails ([`SqlError::Lost`]), and there is nothing that could take back what you committed. (On SQLite a work that is
    /// dropped after that, or was committed so, leaves the pool a connection that begins no more transactions.)
    pub fn tx(&mut self) -> &mut DB::Connection {
        &mut self.transaction
    }

    /// Looks at the answer of a statement that you mean to survive, and hands it on. A deadlock or a lock that was not given in time
    /// poisons the work: it can only be rolled back. (Databases differ in how much of the transaction such an error takes back.)
    ///
    /// # Errors
    /// The statement's own.
    pub fn watch<T>(&mut self, answer: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        if let Err(error) = &answer
            && DB::trouble(error) == crate::sql::database::Trouble::Contention
        {
            self.poison = Some(error.to_string().into());
        }
        answer
    }

    /// Commits, and carries the effects out at once.
    ///
    /// It runs in a task of its own: dropping the returned future does not stop it. Update windows of strong caches are opened
    /// first; then the work's row is inserted with the effects, in the same transaction, which must still be the one that began; then
    /// comes the commit.
    ///
    /// **Guarantee (U1).** `Ok`: it was committed, and all effects happen, at least once. An error without
    /// [`outcome_unknown`](SqlError::outcome_unknown): it was not, and none ever does. An answer that was lost on the way is not
    /// an error: the row is asked. Once the database has acknowledged the commit, no error is returned whatever happens then.
    /// **Guarantee (U2).** The effects are carried out before this answers, if the other side takes them within a second;
    /// [`Committed::carried_out`] says so. A relay does the rest.
    ///
    /// # Errors
    /// [`SqlError::Lost`], [`SqlError::Database`], [`SqlError::Poisoned`], [`SqlError::Window`]: rolled back; see
    /// [`is_retryable`](SqlError::is_retryable). [`SqlError::OutcomeUnknown`]: nobody could say within a minute;
    /// [`SqlError::Interrupted`]: the runtime ended during the commit.
    pub async fn commit(self) -> Result<Committed, SqlError> {
        if let Some(poison) = self.poison {
            let _ = self.transaction.rollback().await;
            let error = SqlError::Poisoned(poison);
            self.effects.keel.sql().metrics().failed(&error);
            return Err(error);
        }
        commit::commit(self.transaction, self.pool, self.effects).await
    }

    /// Rolls back. Nothing of the work happens. (Dropping it does the same, later.)
    ///
    /// # Errors
    /// [`SqlError::Database`] if the database did not answer; it rolls back all the same when it notices that nobody is there.
    pub async fn rollback(self) -> Result<(), SqlError> {
        self.transaction.rollback().await.map_err(SqlError::of::<DB>)
    }
}

impl<DB: Database> Deref for Work<DB> {
    type Target = Effects;
    fn deref(&self) -> &Effects {
        &self.effects
    }
}

impl<DB: Database> DerefMut for Work<DB> {
    fn deref_mut(&mut self) -> &mut Effects {
        &mut self.effects
    }
}

impl<DB: Database> fmt::Debug for Work<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work").field("id", &self.effects.work).finish_non_exhaustive()
    }
}
