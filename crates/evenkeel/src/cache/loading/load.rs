//! A load from its lease request to its completion.
//!
//! The load runs in a task of its own, so a dropped caller does not cancel it for the readers that wait for it. The call is
//! completed in every case, and the lease of a load without a stored value is released.

use super::lease::{HeldLease, LeaseReply, NextStep};
use super::loader::{self, Loader};
use super::plan::{Bypass, JOINS_MAX, Plan, Reader};
use super::single_flight::{CallHandle, Completion, Joined, Known, Outcome, Tick};
use super::user_code::catch_panic;
use crate::cache::core::Core;
use crate::cache::reading::demand::ReadPolicy;
use crate::cache::reading::found::{Found, Tier};
use crate::cache::reading::wake_up::Wait;
use crate::cache::settings::freshness::Source;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::{Backoff, guard};
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::steps::Why;
use std::sync::Arc;
use std::time::Duration;
use tracing::Instrument;

/// The interval at which a waiter polls for the result of another reader's load, if no notification arrives.
pub(crate) const POLL_DELAY: Backoff =
    Backoff { delay_min: Duration::from_millis(4), delay_max: Duration::from_millis(64) };

/// A loaded value, and what is known about it before the store has accepted or rejected it.
pub(crate) struct Loaded<V> {
    pub(crate) found: Found<V>,
    pub(crate) known: Known,
}

impl<V: Send + Sync + 'static> Core<V> {
    /// Loads for a reader that has no value to serve, together with all other readers of this key.
    pub(crate) async fn load(
        self: &Arc<Self>,
        key: &[u8],
        plan: Plan,
        policy: ReadPolicy,
        loader: impl FnOnce() -> Loader<V>,
    ) -> Result<Found<V>, CacheError> {
        let (began, began_at) = (self.clock.now(), self.calls.tick());
        let mut reader = Reader::new(policy, began);
        loop {
            // After two rejected results of other readers the reader runs its own load, which later readers can join.
            let handle = match self.calls.join_or_lead(key, reader.rejected_joins >= JOINS_MAX) {
                Joined::Follower(handle) => handle,
                Joined::Leader(completion, handle) => {
                    self.spawn_load(completion, plan, reader, loader());
                    // The reader's own load read the row after the reader began, so it always satisfies the read.
                    return match handle.outcome().await {
                        Outcome::Found { found, .. } => Ok(found),
                        Outcome::Failed(error) => Err(error),
                        Outcome::Nothing if matches!(plan, Plan::FillOrServe(_)) => {
                            Err(CacheError::Failing { waited: self.clock.now().since(began) })
                        }
                        Outcome::Nothing => Err(CacheError::LoaderDropped),
                    };
                }
            };
            self.metrics.joined.increment(1);
            let Some(outcome) = self.wait_for(handle, began).await? else {
                return self.after_waiting(reader, loader()).await;
            };
            match outcome {
                Outcome::Found { found, known } if policy.accepts_shared(&found, known, began_at) => return Ok(found),
                // The value may lack an invalidation that was acknowledged before this reader began. The next load, which
                // begins after it, is shared with all readers whose results were rejected.
                Outcome::Found { .. } => reader.rejected_joins += 1,
                Outcome::Failed(error) => return Err(error),
                Outcome::Nothing => {}
            }
        }
    }

    /// Waits for another reader's load in this process; `None` after `wait_max` since `began`.
    pub(crate) async fn wait_for(
        &self,
        handle: CallHandle<V>,
        began: Moment,
    ) -> Result<Option<Outcome<V>>, CacheError> {
        let _waiter = self.waiters.enter()?;
        if !guard("wait_max_for_calls") {
            return Ok(Some(handle.outcome().await));
        }
        let left = self.settings.wait_max.saturating_sub(self.clock.now().since(began));
        Ok(self.clock.timeout(left, handle.outcome()).await.ok())
    }

    /// Loads for one reader after `wait_max`, or rejects it. In a task of its own, so that its permit is released when the load
    /// ends and not when the caller is dropped.
    async fn after_waiting(self: &Arc<Self>, reader: Reader, loader: Loader<V>) -> Result<Found<V>, CacheError> {
        self.may_load_after_waiting(reader.began)?;
        let core = Arc::clone(self);
        let alone = async move { core.bypass_store(Bypass::WaitedTooLong, reader, loader).await };
        match evenkeel_link::support::spawn(alone.in_current_span()).await {
            Ok(Outcome::Found { found, .. }) => Ok(found),
            Ok(Outcome::Failed(error)) => Err(error),
            Ok(Outcome::Nothing) | Err(_) => Err(CacheError::LoaderDropped),
        }
    }

    /// Starts a background load, unless a load of this key is running.
    pub(crate) fn load_ahead(
        self: &Arc<Self>,
        key: &[u8],
        why: Why,
        policy: ReadPolicy,
        loader: impl FnOnce() -> Loader<V>,
    ) {
        if let Some(completion) = self.calls.lead(key) {
            self.spawn_load(completion, Plan::Ahead(why), Reader::new(policy, self.clock.now()), loader());
        }
    }

    fn spawn_load(self: &Arc<Self>, completion: Completion<V>, plan: Plan, reader: Reader, loader: Loader<V>) {
        let core = Arc::clone(self);
        let call = async move {
            let outcome = match plan {
                Plan::Fill(why) => core.lease_and_load(&completion, why, true, reader, loader).await,
                Plan::FillOrServe(why) => core.lease_and_load(&completion, why, false, reader, loader).await,
                Plan::Ahead(why) => core.lease_and_refresh(&completion, why, reader, loader).await,
                Plan::Bypass(reason) => core.bypass_store(reason, reader, loader).await,
            };
            completion.complete(outcome);
        };
        evenkeel_link::support::spawn(call.in_current_span());
    }

    /// `waits_for_pause`: whether to wait until the pause after a failure has elapsed. If not, readers that wait for it load.
    async fn lease_and_load(
        &self,
        completion: &Completion<V>,
        why: Why,
        waits_for_pause: bool,
        reader: Reader,
        loader: Loader<V>,
    ) -> Outcome<V> {
        let began = reader.began;
        let mut attempt = 0;
        loop {
            // The permit comes first, so that no lease runs while its holder waits for a permit.
            let permit = match self.admission.enter(began).await {
                Ok(permit) => permit,
                Err(error) => return Outcome::Failed(error),
            };
            let asked_at = self.calls.tick();
            let reply = self.ask(completion.key(), why, reader).await;
            let wait = match self.next_step(reply, waits_for_pause, began) {
                NextStep::Load(lease) => return self.load_with_lease(&lease, completion, loader).await,
                NextStep::LoadPastStore(reason) => return self.load_past_store(reason, reader, loader).await,
                NextStep::AlreadyStored(found) => return Outcome::already_stored(found, asked_at),
                NextStep::FailCall(error) => return Outcome::Failed(error),
                NextStep::FailReader(_) => return Outcome::Nothing,
                NextStep::Wait { retry_after, is_failing, left } => Wait { retry_after, is_failing, attempt, left },
            };
            drop(permit);
            let _waiter = match self.waiters.enter() {
                Ok(waiter) => waiter,
                Err(error) => return Outcome::Failed(error),
            };
            self.wait_for_change(&[(completion.key(), why)], wait).await;
            attempt += 1;
        }
    }

    async fn lease_and_refresh(
        &self,
        completion: &Completion<V>,
        why: Why,
        reader: Reader,
        loader: Loader<V>,
    ) -> Outcome<V> {
        // Background loads do not compete for permits with readers that wait.
        let Some(_permit) = self.admission.try_enter() else { return Outcome::Nothing };
        let asked_at = self.calls.tick();
        match self.ask(completion.key(), why, reader).await {
            LeaseReply::Granted(lease) => {
                self.metrics.refreshes.increment(1);
                self.load_with_lease(&lease, completion, loader).await
            }
            LeaseReply::AlreadyStored(found) => Outcome::already_stored(found, asked_at),
            LeaseReply::Later { .. } | LeaseReply::Bypass(_) | LeaseReply::Failed(_) => Outcome::Nothing,
        }
    }

    async fn bypass_store(&self, reason: Bypass, reader: Reader, loader: Loader<V>) -> Outcome<V> {
        match self.admission.enter(reader.began).await {
            Ok(_permit) => self.load_past_store(reason, reader, loader).await,
            Err(error) => Outcome::Failed(error),
        }
    }

    async fn load_with_lease(&self, lease: &HeldLease, completion: &Completion<V>, loader: Loader<V>) -> Outcome<V> {
        let loaded = self.run(loader, lease.source).await;
        self.settle(lease, completion, loaded).await
    }

    async fn load_past_store(&self, reason: Bypass, reader: Reader, loader: Loader<V>) -> Outcome<V> {
        self.metrics.bypasses.count(reason.as_str());
        match self.run(loader, self.settings.source(reader.source(), reason.needs_primary())).await {
            Ok(Loaded { found, known }) => Outcome::Found { found, known },
            Err(error) => Outcome::Failed(error),
        }
    }

    async fn run(&self, loader: Loader<V>, source: Source) -> Result<Loaded<V>, CacheError> {
        let (began, began_at) = (self.clock.now(), self.calls.tick());
        let loaded = self.timed(loader::run(loader(source), &self.clock, self.settings.load_timeout)).await?;
        let counter = if loaded.is_some() { &self.metrics.loaded } else { &self.metrics.loaded_absent };
        counter.increment(1);
        self.loaded(loaded, began, began_at, source)
    }

    /// A row that this process has just read from the database. A panic of the version function is an error of the load.
    pub(crate) fn loaded(
        &self,
        row: Option<V>,
        began: Moment,
        began_at: Tick,
        source: Source,
    ) -> Result<Loaded<V>, CacheError> {
        let version = row.as_ref().zip(self.version.as_ref());
        let version =
            version.map(|(row, version)| catch_panic(guard("cache_version_caught"), || version(row))).transpose();
        let version = version.map_err(|message| CacheError::LoaderPanicked(message.into()))?;
        let age = self.clock.now().since(began);
        let found = Found { value: row.map(Arc::new), tier: Tier::Loader, age, version, stale: None };
        let at = if source == Source::Primary { began_at } else { Tick::NEVER };
        Ok(Loaded { found, known: Known { at, read_at: at, source } })
    }

    /// Measures a run of the loader, and counts it if it failed.
    pub(crate) async fn timed<T>(&self, run: impl Future<Output = Result<T, CacheError>>) -> Result<T, CacheError> {
        let began = self.clock.now();
        let ended = run.await;
        self.metrics.load_seconds.record(self.clock.now().since(began).as_secs_f64());
        match &ended {
            Ok(_) => {}
            Err(CacheError::LoaderPanicked(_)) => self.metrics.loads_failed.count("panic"),
            Err(CacheError::LoaderTimedOut { .. }) => self.metrics.loads_failed.count("timeout"),
            Err(_) => self.metrics.loads_failed.count("error"),
        }
        ended
    }
}
