//! The change capture of a [`Keel`].

use super::Keel;
use crate::cdc::source::Source;
use crate::cdc::{Capture, CaptureAdmin};
use crate::sql::Database;
use sqlx::Pool;

/// Change capture; see the module [`cdc`](crate::cdc).
impl Keel {
    /// Begins the capture of a source of changes. `name` identifies it: its row in the database of `pool` has the checkpoint and says which
    /// process is its reader. 1 to 64 bytes, the same in every process that may read it. [`migrate`](crate::sql::migrate) must have run.
    ///
    /// Default for `pool`: the database that the source reads. Another one is as good, but must not be restored from an older state without
    /// the caches.
    pub fn cdc<DB: Database>(&self, name: &str, pool: &Pool<DB>, source: impl Source + 'static) -> Capture {
        Capture::new(DB::erased(pool), &self.0.context.clock, name, Box::new(source))
    }

    /// The operator's handle on the capture called `name`.
    pub fn cdc_admin<DB: Database>(&self, name: &str, pool: &Pool<DB>) -> CaptureAdmin {
        CaptureAdmin::new(DB::erased(pool), name)
    }
}
