//! [`Outbox`]: the operator's interface to an outbox. `look` reads it; `change` releases, retries and purges.

mod change;
mod look;

pub use change::ParkedDecision;
pub use look::{OutboxStats, SeenKey, SeenWork, WorkState};

use crate::sql::database::{Database, Pool};
use std::marker::PhantomData;

/// The operator's interface to an outbox: lists, statistics, and the release of parked rows. It carries out no effects.
///
/// Its methods access the database only; a relay carries out what they release.
#[derive(Debug)]
pub struct Outbox<DB> {
    pool: Pool,
    database: PhantomData<fn() -> DB>,
}

impl<DB> Clone for Outbox<DB> {
    fn clone(&self) -> Self {
        Self { pool: self.pool.clone(), database: PhantomData }
    }
}

impl<DB: Database> Outbox<DB> {
    /// The outbox in this database.
    #[must_use]
    pub fn new(pool: &sqlx::Pool<DB>) -> Self {
        Self { pool: DB::erased(pool), database: PhantomData }
    }
}
