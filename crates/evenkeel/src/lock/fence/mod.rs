//! The fence at the database: a row per lock name that refuses every holder below the highest fence it has seen.
//!
//! It is stored **before the first read** it protects. A fence that is only checked when something is written comes too late: two
//! holders may have read the same state by then, and both write.

mod error;
mod rows;
mod transaction;

pub use error::FenceError;
pub use transaction::FencedTransaction;
pub(super) use transaction::end_when_quiet;

use crate::lock::acquire::builder::LockBuilder;
use crate::lock::hold::guard::Guard;
use crate::lock::shared::rw::RwBuilder;
use crate::sql::{Database, SqlError};
use evenkeel_link::support::guard;
use evenkeel_protocol::lock::error::{LockError, LossReason};
use evenkeel_protocol::lock::steps::{FLOOR_MAX, Fence};
use sqlx::Pool;

/// How often a fence that fell behind is lifted before the database is taken to have another one every time.
const RAISES_MAX: u32 = 8;

impl Guard {
    /// Begins a transaction that nobody with an older fence can disturb, nor be disturbed by: its first statement stores this
    /// guard's fence in the row of the lock's name, and holds that row until the end.
    ///
    /// **Guarantee (K1).** Whatever this transaction reads was committed by holders up to this one; and once it is open, every
    /// holder with a lower fence is refused, whether it was paused, cut off or slow. Committing is safe even if the lock has been
    /// lost meanwhile: the next holder's transaction waits for the row.
    /// **Not guaranteed:** anything about reads outside this transaction (use [`LockBuilder::acquire_anchored`]), about statements
    /// that go past the lock, or about replicas: read from the primary.
    ///
    /// The server ends the connection of a process that stands still in the transaction for about a ttl (not SQLite).
    /// [`migrate`](crate::sql::migrate) must have run.
    ///
    /// # Errors
    /// [`FenceError::Fenced`]: a later holder has been here, and this guard is lost. [`FenceError::Lost`]. [`FenceError::Sql`]:
    /// nothing was begun; try again if it [`is_retryable`](FenceError::is_retryable).
    pub async fn begin<DB: Database>(&self, pool: &Pool<DB>) -> Result<FencedTransaction<DB>, FenceError> {
        let lease = self.lease();
        for _ in 0..RAISES_MAX {
            if let Some(lost) = lease.lost_now() {
                return Err(lost.into());
            }
            let fence = self.fence();
            let opening = transaction::open(pool, lease, fence);
            // Whoever holds the row is given as long as this lease lasts.
            let opened = lease.locks.clock.timeout(lease.remaining(), opening).await;
            match opened.map_err(|_| SqlError::Busy("another holder's transaction kept the row of the lock"))?? {
                Some(transaction) => {
                    lease.stored();
                    return Ok(transaction);
                }
                None => self.heal(pool, fence).await?,
            }
        }
        Err(FenceError::Sql(SqlError::Busy("the fence was overtaken again and again; try later")))
    }

    /// Stores the fence in a transaction of yours that has read nothing yet: the first statement after its `BEGIN`, or after
    /// [`Keel::begin`](crate::Keel::begin) of a unit of work (`guard.fence_first(work.tx())`). The row is held until its end; how
    /// long a process may stand still in it is up to you. The guard must be [anchored](LockBuilder::acquire_anchored).
    ///
    /// # Errors
    /// As [`begin`](Self::begin), and [`FenceError::NotAnchored`]. After any error roll the transaction back.
    pub async fn fence_first<DB: Database>(&self, connection: &mut DB::Connection) -> Result<(), FenceError> {
        let lease = self.lease();
        if let Some(lost) = lease.lost_now() {
            return Err(lost.into());
        }
        if !lease.is_stored() {
            return Err(FenceError::NotAnchored);
        }
        let fence = self.fence();
        if rows::store::<DB>(connection, &lease.held.name, lease.signer, fence).await? {
            return Ok(());
        }
        let seen = rows::seen::<DB>(connection, &lease.held.name).await?;
        Err(self.refused(fence, seen))
    }

    /// Commits the fence by itself, so that what is read after it, in whatever way, is not older than the last holder's work.
    async fn anchor<DB: Database>(&self, pool: &Pool<DB>) -> Result<(), FenceError> {
        self.begin(pool).await?.commit().await
    }

    /// The row refused the fence, or is not there. Before anything was read under this guard both can be mended.
    async fn heal<DB: Database>(&self, pool: &Pool<DB>, fence: Fence) -> Result<(), FenceError> {
        let lease = self.lease();
        let held = &lease.held;
        let mut connection = pool.acquire().await.map_err(SqlError::of::<DB>)?;
        let seen = rows::seen::<DB>(&mut connection, &held.name).await?;
        let is_new = !lease.is_stored() || !guard("lock_heal_before_reading");
        match seen {
            Some(seen) if seen.0 > FLOOR_MAX && guard("lock_fence_of_nobody") => Err(LockError::Invalid(format!(
                "the row of {} in evenkeel_guards has the fence {seen}, which no lock has had: another program wrote it. \
                 Correct the row; at most {FLOOR_MAX} is taken",
                held.name
            ))
            .into()),
            None if is_new => Ok(rows::create::<DB>(&mut connection, &held.name).await?),
            // Redis has forgotten a fence that SQL remembers.
            Some(seen) if is_new && seen >= fence => match lease.locks.store.raise_in(held, fence, seen).await? {
                Some(raised) => {
                    lease.raise_fence(raised);
                    Ok(())
                }
                None => Err(self.refused(fence, Some(seen))),
            },
            // The row was made by somebody else in between: try again.
            Some(seen) if seen <= fence => Ok(()),
            seen => Err(self.refused(fence, seen)),
        }
    }

    /// A later holder has been here: this one is over.
    fn refused(&self, fence: Fence, seen: Option<Fence>) -> FenceError {
        self.lease().lose(LossReason::Fenced);
        FenceError::Fenced { name: self.name().to_string(), fence, seen }
    }
}

impl LockBuilder {
    /// Like [`acquire`](Self::acquire), and commits the fence to the database of `pool` before the guard is handed out: for work
    /// that reads outside the transaction it writes in. Its writes still belong into [`Guard::begin`], where the fence is checked.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire) and [`Guard::begin`]; the lock is given back then.
    pub async fn acquire_anchored<DB: Database>(self, pool: &Pool<DB>) -> Result<Guard, FenceError> {
        let guard = self.acquire().await?;
        guard.anchor(pool).await?;
        Ok(guard)
    }
}

impl RwBuilder {
    /// Like [`acquire`](Self::acquire), and commits the fence to the database of `pool` before the guard is handed out. Readers that
    /// share a fence store it one after another and read together from then on.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire) and [`Guard::begin`]; the lock is given back then.
    pub async fn acquire_anchored<DB: Database>(self, pool: &Pool<DB>) -> Result<Guard, FenceError> {
        let guard = self.acquire().await?;
        guard.anchor(pool).await?;
        Ok(guard)
    }
}
