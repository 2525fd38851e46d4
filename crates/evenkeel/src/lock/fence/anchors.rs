//! [`Anchors`]: the databases that have stored a fence of a guard.
//!
//! A database rejects fences below those that it has seen itself, so a rejection by one that has never seen this guard says nothing about the
//! lock. Two pools may lead to the same database, though, under addresses that do not tell.

use super::rows;
use crate::sql::SqlError;
use crate::sql::database::{Pool, PooledConnection};
use evenkeel_link::support::guard;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::steps::Fence;
use parking_lot::Mutex;

/// The fence of a guard in each database that has stored one, by the pool that was used.
#[derive(Default)]
pub(crate) struct Anchors(Mutex<Vec<(Pool, Fence)>>);

impl Anchors {
    /// The fence with which the database of `pool` is asked first: the one that it has, or the lowest of the others. A higher one could pass
    /// a later holder that this database has seen meanwhile. `None` if no database has stored one yet.
    pub(super) fn fence_for(&self, pool: &Pool) -> Option<Fence> {
        self.of(pool).or_else(|| self.lowest())
    }

    /// The lowest stored fence.
    pub(super) fn lowest(&self) -> Option<Fence> {
        self.0.lock().iter().map(|(_, fence)| *fence).min()
    }

    /// Whether a database has stored this fence.
    pub(super) fn has(&self, fence: Fence) -> bool {
        self.0.lock().iter().any(|(_, stored)| *stored == fence)
    }

    /// Records that the database of `pool` has stored `fence`. Keeps the pool, so that its address is not reused.
    pub(super) fn add(&self, pool: &Pool, fence: Fence) {
        let mut anchors = self.0.lock();
        if !anchors.iter().any(|(known, _)| known.place() == pool.place()) {
            anchors.push((pool.clone(), fence));
        }
    }

    fn of(&self, pool: &Pool) -> Option<Fence> {
        self.0.lock().iter().find(|(known, _)| known.place() == pool.place()).map(|(_, fence)| *fence)
    }

    /// The fence that the database of `pool` has stored, through this pool or another one; `None` if it has never stored one of this guard.
    ///
    /// # Errors
    /// [`SqlError`]: it is not known; try again.
    pub(super) async fn known_in(
        &self,
        pool: &Pool,
        connection: &mut PooledConnection,
        name: &LockName,
    ) -> Result<Option<Fence>, SqlError> {
        let stored = self.of(pool);
        if stored.is_some() || !guard("lock_fence_by_database") {
            return Ok(stored);
        }
        let others = self.0.lock().clone();
        for (other, fence) in others {
            if other.dialect().kind == pool.dialect().kind && is_same(connection, &other, name).await? {
                return Ok(Some(fence));
            }
        }
        Ok(None)
    }
}

/// Whether `connection` and `other` lead to the same database: both show the same row, or the same lack of one. What one shows before and
/// after the look at the other does not change in between, so two databases can be taken for one here, but not one for two.
async fn is_same(connection: &mut PooledConnection, other: &Pool, name: &LockName) -> Result<bool, SqlError> {
    let before = rows::image(&mut **connection, name).await?;
    // Not from the pool, whose connections may all be in transactions of this guard.
    let mut looks = other.connect().await?;
    let there = rows::image(&mut *looks, name).await;
    // Nothing depends on how it ends.
    let _ = looks.close().await;
    let after = rows::image(&mut **connection, name).await?;
    if before != after {
        return Err(SqlError::Busy("the row of the lock was written meanwhile"));
    }
    Ok(there? == after)
}
