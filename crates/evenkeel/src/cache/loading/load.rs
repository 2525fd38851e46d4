//! A load from its lease request to its completion.
//!
//! The load runs in a task of its own, so a dropped caller does not cancel it for the readers that wait for it. The call is
//! completed in every case, and the lease of a load without a stored value is released.

use super::fill::Fate;
use super::flight::{CallHandle, Completion, Joined, Known, Outcome, Tick};
use super::loader::{self, Loader};
use super::user_code::catch_panic;
use crate::cache::core::Core;
use crate::cache::metrics::Shed;
use crate::cache::reading::demand::ReadPolicy;
use crate::cache::reading::found::{Found, Stale, Tier};
use crate::cache::reading::wake_up::Wait;
use crate::cache::settings::AfterWait;
use crate::cache::settings::freshness::{Source, WhileWriting};
use crate::cache::store::StoreEpoch;
use evenkeel_link::Token;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::{Backoff, guard, ms};
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::steps::{Generation, Grant, Lease, Leased, Why};
use std::sync::Arc;
use std::time::Duration;
use tracing::Instrument;

/// The polling interval for another reader's load. Its lease ends at the latest then; a load usually ends long before.
pub(crate) const ASK_AGAIN: Backoff =
    Backoff { delay_min: Duration::from_millis(4), delay_max: Duration::from_millis(64) };

/// How a load is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// With a lease, after waiting for its current holder if there is one; the loaded value is stored.
    Fill(Why),
    /// Like `Fill`, but does not wait after a recently failed load, because an older value can be served.
    FillOrServe(Why),
    /// With a lease or not at all: no reader waits for it.
    Ahead(Why),
    /// Without a lease and without storing the value.
    Bypass(Bypass),
}

impl Plan {
    /// The reason in the lease request.
    pub(crate) fn why(self) -> Why {
        match self {
            Self::Fill(why) | Self::FillOrServe(why) | Self::Ahead(why) => why,
            Self::Bypass(_) => Why::Miss,
        }
    }
}

/// Why a load bypasses the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bypass {
    StoreAway,
    InvalidationOwed,
    OtherSchema,
    Undecodable,
    WaitedTooLong,
    ReadsBypassed,
    FillsBypassed,
    Writing,
}

/// How many loads of other readers a reader joins before it insists on its own.
pub(crate) const JOINS_MAX: u32 = 2;

/// The read for which a load is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    pub(crate) policy: ReadPolicy,
    /// When it began; its waiting time counts from here.
    pub(crate) began: Moment,
    /// How many results of other readers' loads it has rejected.
    pub(crate) rejected_joins: u32,
}

impl Reader {
    /// A reader that has just begun.
    pub(crate) fn new(policy: ReadPolicy, began: Moment) -> Self {
        Self { policy, began, rejected_joins: 0 }
    }

    /// The source from which its load may read. A replica's value that is not stored proves nothing to waiting readers; once
    /// this has cost a reader a round, the next load reads the primary.
    pub(crate) fn source(self) -> Source {
        if self.rejected_joins > 0 && guard("refused_reader_reads_primary") {
            Source::Primary
        } else {
            self.policy.source()
        }
    }
}

/// A granted lease, and the data against which its load is checked.
pub(crate) struct HeldLease {
    pub(crate) grant: Grant,
    /// The source from which its load may read.
    pub(crate) source: Source,
    pub(crate) token: Token,
    /// The store's epoch when the lease was requested; `None` if it was unknown.
    pub(crate) epoch: Option<StoreEpoch>,
    /// When the lease was requested: the load budget counts from the sending of the request, not from the reply.
    pub(crate) sent: Moment,
}

/// The result of a lease request.
pub(crate) enum LeaseReply<V> {
    Granted(HeldLease),
    Landed(Found<V>),
    /// Request again, at the latest after this.
    Later {
        retry_after: Duration,
        is_failing: bool,
    },
    /// Load without a lease.
    Bypass(Bypass),
    /// Do not load.
    Failed(CacheError),
}

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
        if !guard("wait_max_for_flights") {
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
        match tokio::spawn(alone.in_current_span()).await {
            Ok(Outcome::Found { found, .. }) => Ok(found),
            Ok(Outcome::Failed(error)) => Err(error),
            Ok(Outcome::Nothing) | Err(_) => Err(CacheError::LoaderDropped),
        }
    }

    /// Applies the cache's `after_wait` setting to a reader that has waited for `wait_max`.
    pub(crate) fn may_load_after_waiting(&self, began: Moment) -> Result<(), CacheError> {
        match self.settings.after_wait {
            AfterWait::Load => Ok(()),
            AfterWait::Fail => {
                self.metrics.shed(Shed::WaitMax);
                Err(CacheError::WaitedTooLong { waited: self.clock.now().since(began) })
            }
        }
    }

    /// The result of a load, or instead of its error an older value that the policy accepts.
    pub(crate) fn rescued(
        &self,
        answer: Result<Found<V>, CacheError>,
        policy: ReadPolicy,
        rescue: Option<Found<V>>,
        seen: Moment,
    ) -> Result<Found<V>, CacheError> {
        answer.or_else(|error| {
            let rescued =
                rescue.and_then(|found| self.rescue(found, policy, seen, Stale::LoaderFailed)).ok_or(error)?;
            self.metrics.rescued_failed.increment(1);
            Ok(rescued)
        })
    }

    /// A value that was read at `seen` and did not satisfy the policy, if it is accepted now in place of a better one.
    pub(crate) fn rescue(&self, found: Found<V>, policy: ReadPolicy, seen: Moment, why: Stale) -> Option<Found<V>> {
        // It is older now.
        let aged = Found { age: found.age + self.clock.now().since(seen), ..found };
        let rescued = policy.rescue(aged, self.settings.fail_safe, why)?;
        self.metrics.served_stale(rescued.age);
        Some(rescued)
    }

    /// Loads for a reader that may fall back to `rescue` if the load fails, or if it is slow; a slow load continues.
    pub(crate) async fn load_or_rescue(
        self: &Arc<Self>,
        key: &[u8],
        plan: Plan,
        policy: ReadPolicy,
        rescue: Option<Found<V>>,
        loader: impl FnOnce() -> Loader<V>,
    ) -> Result<Found<V>, CacheError> {
        let seen = self.clock.now();
        let mut load = std::pin::pin!(self.load(key, plan, policy, loader));
        if let (Some(soft), Some(found)) = (self.settings.load_soft_timeout, &rescue) {
            match self.clock.timeout(soft, &mut load).await {
                Ok(answer) => return self.rescued(answer, policy, rescue, seen),
                Err(_) => {
                    if let Some(served) = self.rescue(found.clone(), policy, seen, Stale::LoaderSlow) {
                        self.metrics.rescued_slow.increment(1);
                        return Ok(served);
                    }
                }
            }
        }
        let answer = load.await;
        self.rescued(answer, policy, rescue, seen)
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
        tokio::spawn(call.in_current_span());
    }

    /// `is_patient`: whether to wait until the pause after a failure has elapsed. If not, readers that are patient load.
    async fn lease_and_load(
        &self,
        completion: &Completion<V>,
        why: Why,
        is_patient: bool,
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
            let (retry_after, is_failing) = match self.ask(completion.key(), why, reader).await {
                LeaseReply::Granted(lease) => return self.load_with_lease(&lease, completion, loader).await,
                LeaseReply::Landed(found) => return Outcome::landed(found, asked_at),
                LeaseReply::Bypass(reason) => return self.load_past_store(reason, reader, loader).await,
                LeaseReply::Failed(error) => return Outcome::Failed(error),
                LeaseReply::Later { is_failing: true, .. } if !is_patient && guard("rescued_do_not_wait") => {
                    return Outcome::Nothing;
                }
                LeaseReply::Later { retry_after, is_failing } => (retry_after, is_failing),
            };
            let waited = self.clock.now().since(began);
            let left = self.settings.wait_max.saturating_sub(waited);
            if left.is_zero() {
                if is_failing {
                    return Outcome::Failed(CacheError::Failing { waited });
                }
                return match self.may_load_after_waiting(began) {
                    Ok(()) => self.load_past_store(Bypass::WaitedTooLong, reader, loader).await,
                    Err(error) => Outcome::Failed(error),
                };
            }
            drop(permit);
            let _waiter = match self.waiters.enter() {
                Ok(waiter) => waiter,
                Err(error) => return Outcome::Failed(error),
            };
            self.wait_for_change(&[(completion.key(), why)], Wait { retry_after, is_failing, attempt, left }).await;
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
            LeaseReply::Landed(found) => Outcome::landed(found, asked_at),
            LeaseReply::Later { .. } | LeaseReply::Bypass(_) | LeaseReply::Failed(_) => Outcome::Nothing,
        }
    }

    async fn bypass_store(&self, reason: Bypass, reader: Reader, loader: Loader<V>) -> Outcome<V> {
        match self.admission.enter(reader.began).await {
            Ok(_permit) => self.load_past_store(reason, reader, loader).await,
            Err(error) => Outcome::Failed(error),
        }
    }

    pub(crate) async fn ask(&self, key: &[u8], why: Why, reader: Reader) -> LeaseReply<V> {
        if self.switches.bypass_fills() {
            return LeaseReply::Bypass(Bypass::FillsBypassed); // without a fill there is no need for a lease
        }
        let token = Token::random();
        let lease = Lease {
            token,
            generation: Generation::random(),
            lease_ms: ms(self.settings.lease),
            life_ms: self.settings.life_ms(),
            why,
            schema: self.schema,
            lag_ms_max: self.settings.lag_ms(),
        };
        let (epoch, sent) = (self.store.epoch(), self.clock.now());
        let later = |ms, is_failing| LeaseReply::Later { retry_after: Duration::from_millis(ms), is_failing };
        match self.store.lease(key, &lease).await {
            Ok(Leased::Granted(grant)) => {
                let source = self.settings.source(reader.source(), grant.primary_required);
                LeaseReply::Granted(HeldLease { grant, source, token, epoch, sent })
            }
            Ok(Leased::Landed(bytes)) => {
                self.landed(key, bytes).map_or(LeaseReply::Bypass(Bypass::Undecodable), LeaseReply::Landed)
            }
            Ok(Leased::Wait { retry_after_ms }) => later(retry_after_ms, false),
            Ok(Leased::Writing { retry_after_ms }) => match self.settings.while_writing {
                WhileWriting::Wait => later(retry_after_ms, false),
                WhileWriting::Load => LeaseReply::Bypass(Bypass::Writing),
                WhileWriting::Fail => {
                    LeaseReply::Failed(CacheError::Writing { retry_after: Duration::from_millis(retry_after_ms) })
                }
            },
            Ok(Leased::Failing { retry_after_ms }) => later(retry_after_ms, true),
            Ok(Leased::OtherSchema) => {
                self.log_other_schema(key);
                LeaseReply::Bypass(Bypass::OtherSchema)
            }
            Err(_) => LeaseReply::Bypass(Bypass::StoreAway),
        }
    }

    async fn load_with_lease(&self, lease: &HeldLease, completion: &Completion<V>, loader: Loader<V>) -> Outcome<V> {
        let loaded = self.run(loader, lease.source).await;
        self.settle(lease, completion, loaded).await
    }

    /// Stores the loaded value, or releases the lease.
    pub(crate) async fn settle(
        &self,
        lease: &HeldLease,
        completion: &Completion<V>,
        loaded: Result<Loaded<V>, CacheError>,
    ) -> Outcome<V> {
        match loaded {
            Ok(Loaded { found, known }) => {
                let mut sent_at = self.calls.tick();
                let fate = self.fill(lease, completion, &found).await;
                if !guard("confirmed_since_the_read_began") {
                    sent_at = self.calls.tick();
                }
                if matches!(fate, Fate::Dropped | Fate::Outdated) && guard("dropped_fill_gives_lease_back") {
                    // No reader needs to wait for a value that will not be stored.
                    self.give_back(lease, completion, Duration::ZERO).await;
                }
                // The store rejects a value that an invalidation has superseded, so none arrived before this was sent.
                let at = if fate == Fate::Stored { sent_at } else { known.at };
                Outcome::Found { found, known: Known { at, ..known } }
            }
            Err(error) => {
                let patience =
                    if guard("failed_load_asks_for_patience") { self.settings.retry_after } else { Duration::ZERO };
                self.give_back(lease, completion, patience).await;
                Outcome::Failed(error)
            }
        }
    }

    /// Best effort: a lease that is not released expires.
    async fn give_back(&self, lease: &HeldLease, completion: &Completion<V>, retry_after: Duration) {
        let given_back = self.store.abandon(completion.key(), lease.token, ms(retry_after)).await;
        if let Err(error) = given_back {
            tracing::debug!(cache = %self.name, %error, "the release of a lease failed; the lease expires by itself");
        }
    }

    async fn load_past_store(&self, reason: Bypass, reader: Reader, loader: Loader<V>) -> Outcome<V> {
        self.metrics.bypassed(reason.as_str());
        // Without the store it is unknown which version a replica must have.
        let needs_primary = reason != Bypass::StoreAway;
        match self.run(loader, self.settings.source(reader.source(), needs_primary)).await {
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
            Err(CacheError::LoaderPanicked(_)) => self.metrics.load_failed("panic"),
            Err(CacheError::LoaderTimedOut { .. }) => self.metrics.load_failed("timeout"),
            Err(_) => self.metrics.load_failed("error"),
        }
        ended
    }
}

impl Bypass {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::StoreAway => "store_away",
            Self::InvalidationOwed => "invalidation_owed",
            Self::OtherSchema => "other_schema",
            Self::Undecodable => "undecodable",
            Self::WaitedTooLong => "waited_too_long",
            Self::ReadsBypassed => "reads_bypassed",
            Self::FillsBypassed => "fills_bypassed",
            Self::Writing => "writing",
        }
    }
}
