//! The check of fencing tokens in the database: a row per lock name rejects every holder with a lower fence than the highest stored one.
//!
//! A holder stores its fence **before the first read** that it protects. A check at the first write would be too late: two holders may have
//! read the same state by then, and both would write.

mod anchors;
mod error;
mod rows;
mod transaction;

pub(crate) use anchors::Anchors;
pub use error::FenceError;
pub use transaction::FencedTransaction;
pub(super) use transaction::end_when_quiet;

use crate::lock::acquire::builder::LockBuilder;
use crate::lock::hold::guard::Guard;
use crate::lock::shared::rw::RwBuilder;
use crate::sql::database::{Connection, Database, Pool};
use crate::sql::{SettingTransaction, SqlError};
use evenkeel_link::support::guard;
use evenkeel_protocol::lock::error::{LockError, LossReason};
use evenkeel_protocol::lock::steps::{FLOOR_MAX, Fence};
use futures_util::future::BoxFuture;

/// How often an outdated fence is raised before the operation fails.
const RAISES_MAX: u32 = 8;

impl Guard {
    /// Begins a transaction that is isolated from all holders with older fences: its first statement stores this guard's fence in the row
    /// of the lock's name, and keeps that row locked until the transaction ends.
    ///
    /// **Guarantee (K1).** Everything this transaction reads was committed by holders up to this one; and once the transaction is open,
    /// every holder with a lower fence is rejected, whether it was paused, disconnected or slow. Committing is safe even if the lock has
    /// been lost meanwhile, because the next holder's transaction waits for the row.
    /// **Not guaranteed:** anything about reads outside this transaction (use [`LockBuilder::acquire_anchored`]), about statements that
    /// bypass the lock, or about replicas: read from the primary.
    ///
    /// A guard may begin transactions in several databases. Each checks it against the fences that it has seen itself: one that has not seen
    /// this guard yet may have a row with a higher fence, or none, and gets a fence of its own then
    /// ([`FencedTransaction::fence`]). One that rejects the guard after it had accepted it declares the guard lost.
    ///
    /// The server closes the connection of a process that is idle in the transaction for about a ttl (not SQLite).
    /// [`migrate`](crate::sql::migrate) must have run.
    ///
    /// # Errors
    /// [`FenceError::Fenced`]: a later holder has stored its fence, and this guard is lost. [`FenceError::Lost`]. [`FenceError::Sql`]:
    /// the transaction was not begun; try again if it [`is_retryable`](FenceError::is_retryable).
    pub async fn begin<DB: Database>(&self, pool: &sqlx::Pool<DB>) -> Result<FencedTransaction<DB>, FenceError> {
        Ok(FencedTransaction::new(self.open(DB::erased(pool)).await?))
    }

    /// As [`begin`](Self::begin). Boxed, so that it is compiled here.
    fn open(&self, pool: Pool) -> BoxFuture<'_, Result<(SettingTransaction, Fence), FenceError>> {
        Box::pin(async move {
            let lease = self.lease();
            let mut fence = lease.anchors.fence_for(&pool).unwrap_or_else(|| self.fence());
            for _ in 0..RAISES_MAX {
                if let Some(lost) = lease.lost_now() {
                    return Err(lost.into());
                }
                let opening = transaction::open(&pool, lease, fence);
                // Another transaction may hold the row for as long as this lease lasts.
                let opened = lease.locks.clock.timeout(lease.remaining(), opening).await;
                match opened
                    .map_err(|_| SqlError::Busy("the transaction of another holder has the row of the lock locked"))??
                {
                    Some(transaction) => {
                        lease.anchors.add(&pool, fence);
                        return Ok((transaction, fence));
                    }
                    None => fence = self.heal(&pool, fence).await?,
                }
            }
            Err(FenceError::Sql(SqlError::Busy("the database had a higher fence at every attempt; try again later")))
        })
    }

    /// Stores the fence in the caller's transaction, which must not have read anything yet: as the first statement after its `BEGIN`, or
    /// after [`Keel::begin`](crate::Keel::begin) of a unit of work (`guard.fence_first(work.tx())`). The row stays locked until the
    /// transaction ends; the caller limits its idle time. The guard must be [anchored](LockBuilder::acquire_anchored).
    ///
    /// # Errors
    /// As [`begin`](Self::begin), and [`FenceError::NotAnchored`]. After any error roll the transaction back.
    pub async fn fence_first<DB: Database>(&self, connection: &mut DB::Connection) -> Result<(), FenceError> {
        self.store_in(connection).await
    }

    /// As [`fence_first`](Self::fence_first). Boxed, as well.
    fn store_in<'a>(&'a self, connection: &'a mut Connection) -> BoxFuture<'a, Result<(), FenceError>> {
        Box::pin(async move {
            let lease = self.lease();
            if let Some(lost) = lease.lost_now() {
                return Err(lost.into());
            }
            let Some(fence) = lease.anchors.lowest() else { return Err(FenceError::NotAnchored) };
            if rows::store(connection, &lease.held.name, lease.signer, fence).await? {
                return Ok(());
            }
            match rows::seen(connection, &lease.held.name).await? {
                // The connection does not say which database this is: one that has never seen this guard must not declare it lost, nor one in
                // which it has a fence of its own.
                None => Err(FenceError::NotAnchored),
                Some(seen) if seen != fence && lease.anchors.has(seen) => Err(FenceError::NotAnchored),
                seen => Err(self.refused(fence, seen)),
            }
        })
    }

    /// Commits the fence in a transaction of its own, so that all later reads see the work of earlier holders.
    async fn anchor(&self, pool: Pool) -> Result<(), FenceError> {
        let (transaction, _) = self.open(pool).await?;
        transaction::commit(transaction).await
    }

    /// Creates a missing row, or raises an outdated fence; returns the fence to store next. Both are possible only before anything was read in
    /// this database under this guard.
    async fn heal(&self, pool: &Pool, fence: Fence) -> Result<Fence, FenceError> {
        let lease = self.lease();
        let held = &lease.held;
        let mut connection = pool.acquire().await.map_err(SqlError::from)?;
        let seen = rows::seen(&mut *connection, &held.name).await?;
        let known = lease.anchors.known_in(pool, &mut connection, &held.name).await?;
        if let Some(own) = known.filter(|own| *own > fence) {
            return Ok(own);
        }
        let is_new = known.is_none() || !guard("lock_heal_before_reading");
        match seen {
            Some(seen) if seen.0 > FLOOR_MAX && guard("lock_fence_without_owner") => Err(LockError::Invalid(format!(
                "the row of {} in evenkeel_guards has the invalid fence {seen}, which another program wrote; correct the row: the \
                 highest fence is {FLOOR_MAX}",
                held.name
            ))
            .into()),
            None if is_new => {
                rows::create(&mut *connection, &held.name).await?;
                Ok(fence)
            }
            // Redis has lost a fence that SQL has, or this database has seen other holders than the first one.
            Some(seen) if is_new && seen >= fence => match lease.locks.store.raise_in(held, fence, seen).await? {
                Some(raised) => {
                    if lease.anchors.lowest().is_none() {
                        lease.raise_fence(raised);
                    }
                    Ok(raised)
                }
                None => Err(self.refused(fence, Some(seen))),
            },
            // Another process has created the row in between: try again.
            Some(seen) if seen <= fence => Ok(fence),
            seen => Err(self.refused(fence, seen)),
        }
    }

    /// Marks the lease as lost to a later holder.
    fn refused(&self, fence: Fence, seen: Option<Fence>) -> FenceError {
        self.lease().lose(LossReason::Fenced);
        FenceError::Fenced { name: self.name().to_string(), fence, seen }
    }
}

impl LockBuilder {
    /// Like [`acquire`](Self::acquire), and commits the fence to the database of `pool` before it returns the guard: for work that reads
    /// outside the transaction in which it writes. The writes still belong in [`Guard::begin`], where the fence is checked.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire) and [`Guard::begin`]; after an error the lock is released.
    pub async fn acquire_anchored<DB: Database>(self, pool: &sqlx::Pool<DB>) -> Result<Guard, FenceError> {
        self.acquire_anchored_in(DB::erased(pool)).await
    }

    /// Boxed, so that it is compiled here.
    fn acquire_anchored_in(self, pool: Pool) -> BoxFuture<'static, Result<Guard, FenceError>> {
        Box::pin(async move {
            let guard = self.acquire().await?;
            guard.anchor(pool).await?;
            Ok(guard)
        })
    }
}

impl RwBuilder {
    /// Like [`acquire`](Self::acquire), and commits the fence to the database of `pool` before it returns the guard. Readers that share a
    /// fence store it one after another, and read concurrently afterwards.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire) and [`Guard::begin`]; after an error the lock is released.
    pub async fn acquire_anchored<DB: Database>(self, pool: &sqlx::Pool<DB>) -> Result<Guard, FenceError> {
        self.lock.acquire_anchored(pool).await
    }
}
