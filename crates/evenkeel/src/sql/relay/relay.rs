//! [`Relay`]: the public interface of the tasks that carry out the effects in the outbox.

use super::core::PassReport;
use super::runner::Runner;
use crate::sql::error::SqlError;
use std::future::Future;
use std::marker::PhantomData;

/// Carries out the effects in the outbox of one database. Cheap to clone; clones share their state.
///
/// Guarantee (U3): no committed row is skipped, in whatever order transactions commit and ids were generated. Units of work are
/// claimed one by one; the messages of a key are sent in the order of their sequences, each after the previous one was confirmed.
/// (U4) An effect that cannot be carried out is parked after [`attempts_max`](Self::attempts_max) failures, and delays
/// only its own key.
///
/// Not guaranteed: that an effect happens once. If a relay dies, or pauses for longer than its claim, another one repeats its work;
/// every effect is safe to repeat, and messages carry ids by which sinks detect duplicates.
#[must_use = "nothing is carried out until `run`"]
pub struct Relay<DB>(pub(super) Runner, PhantomData<fn() -> DB>);

impl<DB> Clone for Relay<DB> {
    fn clone(&self) -> Self {
        Self::new(self.0.clone())
    }
}

impl<DB> Relay<DB> {
    pub(super) fn new(runner: Runner) -> Self {
        Self(runner, PhantomData)
    }

    /// Carries out effects until `shutdown` completes; then it finishes the current pass, each step within
    /// [`deadline`](Self::deadline), and releases its claims. A task that panics (for example in a sink of the
    /// program) is restarted.
    ///
    /// While the database, Redis or a sink is unavailable, the relay retries.
    pub fn run(&self, shutdown: impl Future<Output = ()> + Send) -> impl Future<Output = ()> + Send {
        let runner = self.0.clone();
        async move { runner.run(Box::pin(shutdown)).await }
    }

    /// Runs one pass: claims a batch of units of work and some keys, carries them out, and returns the result. For tests, and for
    /// programs with their own loop, which pauses for [`PassReport::next`] when a pass [was idle](PassReport::is_idle).
    ///
    /// # Errors
    /// [`SqlError::Settings`]: a setting of the database does not allow a relay to work, and nothing was claimed. Another [`SqlError`] of
    /// the database: the next pass stores the results of this one and gives back the rows that it had claimed;
    /// without a next pass they are claimed again after the lease.
    pub fn run_once(&self) -> impl Future<Output = Result<PassReport, SqlError>> + Send {
        self.0.clone().run_once()
    }

    /// Deletes up to some thousand rows that have been done for longer than the retention, as [`run`](Self::run) does every ten
    /// seconds. Returns how many.
    ///
    /// # Errors
    /// [`SqlError`] of the database; rows deleted before the error stay deleted.
    pub fn tidy_once(&self) -> impl Future<Output = Result<u64, SqlError>> + Send {
        self.0.tidy_once()
    }

    /// For test suites: waits until both workers are idle, without a failure, after `wakeups` notifications.
    #[cfg(feature = "testing")]
    pub async fn until_paused(&self, wakeups: u64) {
        self.0.until_paused(wakeups).await;
    }
}
