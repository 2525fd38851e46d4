//! [`Joined`]: a unit of work on a transaction that the caller owns.

use super::commit::{Committed, PostCommit};
use super::effects::Effects;
use super::outcome::{self, Outcome};
use super::windows::Windows;
use super::write::{self, RowState};
use crate::sql::Shared;
use crate::sql::database::{Connection, Database, Pool};
use crate::sql::error::SqlError;
use crate::sql::outbox::{WorkId, format, rows};
use evenkeel_link::support::crash_point;
use futures_util::future::BoxFuture;
use sqlx::Transaction;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

/// How long to try to determine the outcome of a transaction that the caller has ended.
const DECISION_MAX: Duration = Duration::from_secs(5);

/// The effects of a transaction of yours; created by [`Keel::join`](crate::Keel::join). It dereferences to [`Effects`]; call
/// [`seal`](Self::seal) last.
#[must_use = "effects that are not sealed do not happen"]
pub struct Joined<DB> {
    effects: Effects,
    database: PhantomData<fn() -> DB>,
}

/// A unit of work whose effects are stored in your transaction: commit it, then call [`carry_out`](Self::carry_out).
#[must_use = "without `carry_out` the effects wait for a relay"]
pub struct Sealed<DB> {
    stored: Stored,
    database: PhantomData<fn() -> DB>,
}

/// Effects that are stored in a transaction, which has not ended.
pub(in crate::sql) struct Stored {
    shared: Arc<Shared>,
    work: WorkId,
    windows: Windows,
    has_ordered: bool,
}

impl<DB: Database> Joined<DB> {
    pub(crate) async fn join(shared: &Arc<Shared>, connection: &mut DB::Connection) -> Result<Self, SqlError> {
        Ok(Self { effects: join(Arc::clone(shared), connection).await?, database: PhantomData })
    }

    /// Stores the effects in the transaction and opens the update windows of strong caches. Call it right before your commit,
    /// outside of any savepoint: the effects are rolled back with one.
    ///
    /// # Errors
    /// [`SqlError::Lost`] if the row no longer exists, `SqlError::Window`, [`SqlError::Database`]: roll back.
    pub async fn seal(self, transaction: &mut Transaction<'_, DB>) -> Result<Sealed<DB>, SqlError> {
        let connection: &mut DB::Connection = transaction;
        Ok(Sealed { stored: seal(self.effects, connection).await?, database: PhantomData })
    }
}

// The steps without the type of the database, boxed, so that they are compiled here.

/// Inserts the row of a unit of work into the transaction of this connection.
pub(in crate::sql) fn join(
    shared: Arc<Shared>,
    connection: &mut Connection,
) -> BoxFuture<'_, Result<Effects, SqlError>> {
    Box::pin(async move {
        let work = WorkId::new(shared.clock.unix_ms());
        rows::open(connection, work).await?;
        Ok(Effects::new(shared, connection.dialect().kind, work))
    })
}

/// Stores the effects in the transaction of this connection.
pub(in crate::sql) fn seal(
    mut effects: Effects,
    connection: &mut Connection,
) -> BoxFuture<'_, Result<Stored, SqlError>> {
    Box::pin(async move {
        let requested = std::mem::take(&mut effects.windows);
        let windows = Windows::open(effects.work, requested).await?;
        if let Err(error) = write::write(connection, &mut effects, RowState::Open).await {
            // Only the caller can commit the transaction; until then the windows protect its readers.
            windows.abandon();
            return Err(error);
        }
        windows.check().await?;
        crash_point("before_commit");
        Ok(Stored { has_ordered: !effects.ordered.is_empty(), work: effects.work, shared: effects.shared, windows })
    })
}

impl<DB: Database> Sealed<DB> {
    /// Carries the effects out if, and only if, the transaction was committed: it reads the row first. Call it after your commit has
    /// returned, also if it returned an error that leaves its outcome unknown. `None`: the effects were not committed, and never will be: the
    /// transaction was rolled back, or a savepoint in it in which the unit of work was joined or sealed. In the second case the rest of your
    /// transaction may be committed.
    ///
    /// # Errors
    /// [`SqlError::OutcomeUnknown`] if the database could not be queried, or the transaction has not ended. If it is committed later,
    /// a relay carries the effects out.
    pub async fn carry_out(self, pool: &sqlx::Pool<DB>) -> Result<Option<Committed>, SqlError> {
        carry_out(self.stored, DB::erased(pool)).await
    }
}

/// As [`Sealed::carry_out`].
fn carry_out(stored: Stored, pool: Pool) -> BoxFuture<'static, Result<Option<Committed>, SqlError>> {
    Box::pin(async move {
        let Stored { shared, work, windows, has_ordered } = stored;
        crash_point("after_commit");
        let row = match pool.acquire().await {
            Ok(mut connection) => rows::read(&mut *connection, work).await,
            Err(error) => Err(error),
        };
        let row = match row {
            Ok(Some(row)) if row.state.is_committed() => row,
            _ => match outcome::decide(&shared.clock, &pool, work, DECISION_MAX).await {
                Outcome::Committed => {
                    let mut connection = pool.acquire().await?;
                    let row = rows::read(&mut *connection, work).await?;
                    row.ok_or(SqlError::Lost)?
                }
                Outcome::RolledBack => {
                    windows.end().await;
                    return Ok(None);
                }
                Outcome::Unknown(error) => {
                    windows.abandon();
                    let work = work.to_string();
                    return Err(SqlError::OutcomeUnknown { work, error: Arc::new(error) });
                }
            },
        };
        let effects = if row.effects.is_empty() { Vec::new() } else { format::decode(row.effects)? };
        let after = PostCommit::read_back(Arc::clone(&shared), effects, has_ordered, row.trace);
        let (committed, is_all) = after.carry_out(work, windows, &pool).await;
        crash_point("carried_out");
        if is_all && after.has_row() {
            shared.finisher(&pool).done(work);
        }
        Ok(Some(committed))
    })
}

impl<DB> Deref for Joined<DB> {
    type Target = Effects;
    fn deref(&self) -> &Effects {
        &self.effects
    }
}

impl<DB> DerefMut for Joined<DB> {
    fn deref_mut(&mut self) -> &mut Effects {
        &mut self.effects
    }
}
