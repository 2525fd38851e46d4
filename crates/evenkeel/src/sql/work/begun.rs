//! [`Work`]: a unit of work that owns its transaction.

use super::commit::{self, Committed};
use super::effects::Effects;
use crate::sql::Shared;
use crate::sql::database::{Database, Pool, class_of_error, typed};
use crate::sql::error::SqlError;
use crate::sql::outbox::{WorkId, rows};
use crate::sql::transaction::Transaction;
use futures_util::future::BoxFuture;
use sqlx::{SqlSafeStr, SqlStr};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A SQL transaction and the effects that must follow it; created by [`Keel::begin`](crate::Keel::begin).
///
/// Execute your statements on [`tx`](Self::tx), record effects (this type dereferences to [`Effects`]), then call
/// [`commit`](Self::commit). If it is dropped, the transaction is rolled back and no effect happens.
#[must_use = "a unit of work that is dropped is rolled back"]
pub struct Work<DB> {
    transaction: Transaction,
    pool: Pool,
    effects: Effects,
    poison: Option<Arc<str>>,
    database: PhantomData<fn() -> DB>,
}

/// Begins a transaction with a marker of the unit of work. Boxed, so that it is compiled here.
fn begin(
    shared: Arc<Shared>,
    pool: Pool,
    statement: SqlStr,
) -> BoxFuture<'static, Result<(Transaction, Pool, Effects), SqlError>> {
    Box::pin(async move {
        let work = WorkId::new(shared.clock.unix_ms());
        // Checked once per pool: the commit would detect missing tables too, but late.
        let finisher = shared.finisher(&pool);
        if !finisher.has_tables() {
            let mut connection = pool.acquire().await?;
            rows::check_table(&mut *connection).await?;
            finisher.found_tables();
        }
        let effects = Effects::new(shared, pool.dialect().kind, work);
        let transaction = Transaction::begin_marked(&pool, statement, &work.0).await?;
        Ok((transaction, pool, effects))
    })
}

impl<DB: Database> Work<DB> {
    pub(crate) async fn begin(
        shared: &Arc<Shared>,
        pool: &sqlx::Pool<DB>,
        statement: impl SqlSafeStr,
    ) -> Result<Self, SqlError> {
        let begun = begin(Arc::clone(shared), DB::erased(pool), statement.into_sql_str());
        let (transaction, pool, effects) = begun.await?;
        Ok(Self { transaction, pool, effects, poison: None, database: PhantomData })
    }

    /// The connection in its transaction, on which statements are executed.
    ///
    /// Savepoints work as usual (`work.tx().begin()`), and each must end before the commit ([`SqlError::OpenSavepoint`]); the name
    /// `evenkeel_work` is reserved. Do not end the transaction through this connection (`COMMIT`, `ROLLBACK`, on MySQL and MariaDB also
    /// statements with an implicit commit, such as `CREATE TABLE`): the commit detects it and fails ([`SqlError::Lost`]), but cannot
    /// roll back what you committed.
    pub fn tx(&mut self) -> &mut DB::Connection {
        typed::<DB>(&mut *self.transaction)
    }
}

impl<DB> Work<DB> {
    /// Checks the result of a statement whose failure you handle, and returns it. A deadlock or a lock timeout poisons the unit of
    /// work: it can only be rolled back. (Databases differ in how much of the transaction such an error rolls back.) So does an error
    /// that says that the server ends the session or has become read-only; the connection is closed then.
    ///
    /// # Errors
    /// The error of the statement.
    pub fn watch<T>(&mut self, answer: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        if let Err(error) = &answer {
            let class = class_of_error(error);
            if class.is_contention() || class.ends_session() {
                self.poison = Some(error.to_string().into());
            }
            if class.ends_session() {
                self.transaction.close_at_end();
            }
        }
        answer
    }

    /// Commits, and then carries out the effects.
    ///
    /// The commit runs in its own task: dropping the returned future does not stop it. It first opens the update windows of strong
    /// caches, then inserts the row with the effects in the same transaction, which must still be the one that began, and then
    /// commits.
    ///
    /// **Guarantee (U1).** `Ok`: the transaction was committed, and all effects happen, at least once. An error without
    /// [`outcome_unknown`](SqlError::outcome_unknown): it was not committed, and no effect ever happens. A lost reply is not an
    /// error: the row decides. Once the database has acknowledged the commit, no error is returned, whatever happens afterwards.
    /// **Guarantee (U2).** The effects are carried out before this returns, if their destinations accept them within a second;
    /// [`Committed::carried_out`] reports. A relay carries out the rest.
    ///
    /// # Errors
    /// [`SqlError::Lost`], [`SqlError::OpenSavepoint`], [`SqlError::Database`], [`SqlError::Poisoned`], `SqlError::Window`: rolled back;
    /// see [`is_retryable`](SqlError::is_retryable). [`SqlError::OutcomeUnknown`]: the outcome could not be determined within a minute;
    /// [`SqlError::Interrupted`]: the runtime shut down during the commit.
    pub async fn commit(self) -> Result<Committed, SqlError> {
        commit::commit(self.transaction, self.pool, self.effects, self.poison).await
    }

    /// Rolls the transaction back. No effect happens. (Dropping the unit of work does the same, later.)
    ///
    /// # Errors
    /// [`SqlError::Database`] if the database did not reply; it rolls the transaction back when it detects the closed connection.
    pub async fn rollback(self) -> Result<(), SqlError> {
        commit::roll_back(self.transaction).await
    }
}

impl<DB> Deref for Work<DB> {
    type Target = Effects;
    fn deref(&self) -> &Effects {
        &self.effects
    }
}

impl<DB> DerefMut for Work<DB> {
    fn deref_mut(&mut self) -> &mut Effects {
        &mut self.effects
    }
}

impl<DB> fmt::Debug for Work<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work").field("id", &self.effects.work).finish_non_exhaustive()
    }
}
