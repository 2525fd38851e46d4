//! [`Joined`]: a unit of work on a transaction that the caller owns.

use super::commit::{Committed, PostCommit};
use super::effects::Effects;
use super::outcome::{self, Outcome};
use super::windows::Windows;
use super::write::{self, RowState};
use crate::sql::Shared;
use crate::sql::database::Database;
use crate::sql::error::SqlError;
use crate::sql::outbox::{WorkId, format, rows};
use evenkeel_link::support::crash_point;
use sqlx::{Pool, Transaction};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

/// How long to try to determine the outcome of a transaction that the caller has ended.
const DECISION_MAX: Duration = Duration::from_secs(5);

/// The effects of a transaction of yours; created by [`Keel::join`](crate::Keel::join). It dereferences to [`Effects`]; call
/// [`seal`](Self::seal) last.
#[must_use = "effects that are not sealed do not happen"]
pub struct Joined<DB: Database> {
    effects: Effects,
    database: PhantomData<fn() -> DB>,
}

/// A unit of work whose effects are stored in your transaction: commit it, then call [`carry_out`](Self::carry_out).
#[must_use = "without `carry_out` the effects wait for a relay"]
pub struct Sealed<DB: Database> {
    shared: Arc<Shared>,
    work: WorkId,
    windows: Windows,
    has_ordered: bool,
    database: PhantomData<fn() -> DB>,
}

impl<DB: Database> Joined<DB> {
    pub(crate) async fn join(shared: &Arc<Shared>, connection: &mut DB::Connection) -> Result<Self, SqlError> {
        let work = WorkId::new(shared.clock.unix_ms());
        rows::open::<DB>(connection, work).await?;
        Ok(Self { effects: Effects::new(Arc::clone(shared), DB::KIND, work), database: PhantomData })
    }

    /// Stores the effects in the transaction and opens the update windows of strong caches. Call it right before your commit.
    ///
    /// # Errors
    /// [`SqlError::Lost`] if the row no longer exists, `SqlError::Window`, [`SqlError::Database`]: roll back.
    pub async fn seal(self, transaction: &mut Transaction<'_, DB>) -> Result<Sealed<DB>, SqlError> {
        self.seal_on(transaction).await
    }

    pub(crate) async fn seal_on(mut self, connection: &mut DB::Connection) -> Result<Sealed<DB>, SqlError> {
        let requested = std::mem::take(&mut self.effects.windows);
        let windows = Windows::open(self.effects.work, requested).await?;
        if let Err(error) = write::write::<DB>(connection, &mut self.effects, RowState::Open).await {
            // Only the caller can commit the transaction; until then the windows protect its readers.
            windows.abandon();
            return Err(error);
        }
        windows.check().await?;
        crash_point("before_commit");
        Ok(Sealed {
            has_ordered: !self.effects.ordered.is_empty(),
            work: self.effects.work,
            shared: self.effects.shared,
            windows,
            database: PhantomData,
        })
    }
}

impl<DB: Database> Sealed<DB> {
    /// Carries the effects out if, and only if, the transaction was committed: it reads the row first. Call it after your commit has
    /// returned, also if it returned an error that leaves its outcome unknown. `None`: it was not committed, and never will be.
    ///
    /// # Errors
    /// [`SqlError::OutcomeUnknown`] if the database could not be queried, or the transaction has not ended. If it is committed later,
    /// a relay carries the effects out.
    pub async fn carry_out(self, pool: &Pool<DB>) -> Result<Option<Committed>, SqlError> {
        let Self { shared, work, windows, has_ordered, .. } = self;
        crash_point("after_commit");
        let row = match pool.acquire().await {
            Ok(mut connection) => rows::read::<DB>(&mut connection, work).await,
            Err(error) => Err(error),
        };
        let row = match row {
            Ok(Some(row)) if row.state.is_committed() => row,
            _ => match outcome::decide(&shared.clock, pool, work, DECISION_MAX).await {
                Outcome::Committed => {
                    let mut connection = pool.acquire().await?;
                    let row = rows::read::<DB>(&mut connection, work).await?;
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
        let (committed, is_all) = after.carry_out(work, windows, pool).await;
        crash_point("carried_out");
        if is_all && after.has_row() {
            shared.finisher(pool).done(work);
        }
        Ok(Some(committed))
    }
}

impl<DB: Database> Deref for Joined<DB> {
    type Target = Effects;
    fn deref(&self) -> &Effects {
        &self.effects
    }
}

impl<DB: Database> DerefMut for Joined<DB> {
    fn deref_mut(&mut self) -> &mut Effects {
        &mut self.effects
    }
}
