//! What only test suites do with a [`Keel`].

#[cfg(feature = "cache")]
use super::Inner;
use super::Keel;
#[cfg(feature = "cache")]
use crate::context::Context;
#[cfg(feature = "cache")]
use std::sync::Arc;

/// For test suites.
impl Keel {
    /// Waits until the outbox rows of all units of work that this process has carried out are marked as done in the database of
    /// `pool`.
    #[cfg(feature = "sql")]
    pub async fn until_marked<DB: crate::sql::Database>(&self, pool: &sqlx::Pool<DB>) {
        self.0.sql.until_marked(&DB::erased(pool)).await;
    }

    /// A keel over the same store that shares no loads and caches with this one, like another process.
    ///
    /// For a keel in memory only: on Redis, connect once more.
    #[cfg(feature = "cache")]
    #[must_use]
    pub fn another_process(&self) -> Self {
        self.another_process_that_reports(true)
    }

    /// Like [`another_process`](Self::another_process), with its process reports on or off.
    #[cfg(feature = "cache")]
    #[must_use]
    pub fn another_process_that_reports(&self, reports: bool) -> Self {
        let context = Context {
            #[cfg(feature = "spool")]
            spool: None,
            reporter: self.0.context.reporter.another_process(reports),
            ..self.0.context.clone()
        };
        let stores = self.0.stores.another_process(&context);
        Self(Arc::new(Inner {
            #[cfg(feature = "sql")]
            sql: Arc::new(crate::sql::Shared::new(&context, stores.clone())),
            stores,
            #[cfg(feature = "lock")]
            locks: self.0.locks.another_process(&context),
            #[cfg(feature = "id")]
            scopes: self.0.scopes.clone(),
            #[cfg(feature = "limit")]
            limits: Arc::new(self.0.limits.another_process(&context)),
            context,
        }))
    }

    /// The entries of a keel in memory, so that a test can change them from outside, as other programs can change those of a
    /// Redis.
    #[cfg(feature = "cache")]
    #[must_use]
    pub fn entries(&self) -> &evenkeel_protocol::cache::memory::store::EntryStore {
        &self.0.stores.caches.entries
    }
}
