//! Batched reads: one read of the store for all keys, one run of the loader for the keys whose leases this batch gets, then a
//! wait for the keys that others are loading.
//!
//! Each key has its own single-flight call, lease and fill. A batch and a single reader of the same key therefore wait for each
//! other, and an invalidation affects one key and not the batch.

use super::demand::ReadPolicy;
use super::found::{Found, Stale};
use super::look::Look;
use super::wake_up::Wait;
use crate::cache::core::Core;
use crate::cache::key::KeyBytes;
use crate::cache::loading::admission::Admitted;
use crate::cache::loading::lease::{HeldLease, LeaseReply, NextStep};
use crate::cache::loading::load::Loaded;
use crate::cache::loading::loader::{self, BatchLoader, Rows, own_error};
use crate::cache::loading::plan::{Bypass, JOINS_MAX, Plan, Reader};
use crate::cache::loading::single_flight::{CallHandle, Completion, Joined, Outcome, Tick};
use crate::cache::settings::freshness::Source;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::{guard, in_groups};
use evenkeel_protocol::cache::error::CacheError;
use std::sync::Arc;
use std::time::Duration;
use tracing::Instrument;

/// The caller's loader: called with the indexes of the requested keys and the source from which it may read.
pub(crate) type LoadMany<'a, V> = dyn Fn(&[usize], Source) -> BatchLoader<V> + Send + Sync + 'a;

/// A key without a result.
struct PendingKey {
    at: usize,
    plan: Plan,
    /// How many results of other readers' loads it has rejected.
    rejected_joins: u32,
}

/// A key whose single-flight call this batch leads.
struct LedKey<V> {
    key: PendingKey,
    completion: Completion<V>,
    handle: CallHandle<V>,
}

/// A key that this batch loads.
struct OwnKey<V> {
    completion: Completion<V>,
    /// `None` for a load that bypasses the store.
    lease: Option<HeldLease>,
    source: Source,
}

/// A running batch.
struct Batch<'a, V> {
    core: &'a Arc<Core<V>>,
    keys: &'a [KeyBytes],
    policy: ReadPolicy,
    load: &'a LoadMany<'a, V>,
    answers: Vec<Option<Result<Found<V>, CacheError>>>,
    began: Moment,
    began_at: Tick,
}

impl<V: Send + Sync + 'static> Core<V> {
    /// Reads all `keys`, which are distinct; the results have the same order.
    pub(crate) async fn get_many(
        self: &Arc<Self>,
        keys: &[KeyBytes],
        policy: ReadPolicy,
        load: &LoadMany<'_, V>,
    ) -> Vec<Result<Found<V>, CacheError>> {
        let mut answers: Vec<Option<Result<Found<V>, CacheError>>> = Vec::with_capacity(keys.len());
        let (mut open, mut rescues) = (Vec::new(), Vec::new());
        for (at, look) in self.look_at_many(keys, policy).await.into_iter().enumerate() {
            answers.push(match look {
                Look::Serve(found) => Some(Ok(found)),
                Look::ServeAndLoad(found, why) => {
                    self.load_ahead(keys[at].as_slice(), why, policy, || only(&keys[at], load(&[at], Source::Primary)));
                    Some(Ok(found))
                }
                Look::Load(plan, rescue) => {
                    open.push(PendingKey { at, plan, rejected_joins: 0 });
                    rescues.extend(rescue.map(|found| (at, found)));
                    None
                }
            });
        }
        if !open.is_empty() {
            let (began, began_at) = (self.clock.now(), self.calls.tick());
            let mut batch = Batch { core: self, keys, policy, load, answers, began, began_at };
            // Loads that have started continue when the batch stops waiting for them.
            let soft = self.settings.load_soft_timeout.filter(|_| rescues.len() == open.len());
            let settled = Box::pin(batch.settle(open));
            match soft {
                Some(soft) => _ = self.clock.timeout(soft, settled).await,
                None => settled.await,
            }
            answers = batch.answers;
            for (at, found) in rescues {
                answers[at] = match answers[at].take() {
                    Some(answer) => Some(self.rescued(answer, policy, Some(found), began)),
                    None => self.rescue(found, policy, began, Stale::LoaderSlow).map(Ok),
                };
            }
        }
        answers.into_iter().map(|answer| answer.unwrap_or(Err(CacheError::LoaderDropped))).collect()
    }
}

impl<V: Send + Sync + 'static> Batch<'_, V> {
    /// Repeats until every key has a result: first its own loads, then those of others.
    async fn settle(&mut self, mut open: Vec<PendingKey>) {
        let mut attempt = 0;
        while !open.is_empty() {
            let (mut joined, mut led) = (Vec::new(), Vec::new());
            for key in open {
                let must_lead = key.rejected_joins >= JOINS_MAX || !guard("batch_joins_calls");
                match self.core.calls.join_or_lead(self.keys[key.at].as_slice(), must_lead) {
                    Joined::Follower(handle) => joined.push((key, handle)),
                    Joined::Leader(completion, handle) => led.push(LedKey { key, completion, handle }),
                }
            }
            let mut again = Vec::new();
            if !guard("batch_loads_own_first") {
                again.extend(self.join_all(std::mem::take(&mut joined)).await);
            }
            let (later, pause) = self.load_own(led).await;
            again.extend(later);
            again.extend(self.join_all(joined).await);
            if let Some(retry_after) = pause {
                let _waiter = match self.core.waiters.enter() {
                    Ok(waiter) => waiter,
                    Err(error) => return self.fail(again.iter().map(|key| key.at), &error),
                };
                let requested = again.iter().map(|key| (self.keys[key.at].as_slice(), key.plan.why()));
                let wait = Wait { retry_after, is_failing: false, attempt, left: self.core.settings.wait_max };
                self.core.wait_for_change(&requested.collect::<Vec<_>>(), wait).await;
                attempt += 1;
            }
            open = again;
        }
    }

    /// Waits for loads of this process that other readers started. Returns the keys that must be tried again; keys whose wait
    /// exceeded `wait_max` are loaded without storing.
    async fn join_all(&mut self, joined: Vec<(PendingKey, CallHandle<V>)>) -> Vec<PendingKey> {
        let (mut again, mut late) = (Vec::new(), Vec::new());
        for (key, handle) in joined {
            self.core.metrics.joined.increment(1);
            match self.core.wait_for(handle, self.began).await {
                Ok(Some(outcome)) => again.extend(self.joined(key, outcome)),
                Ok(None) => late.push(key.at),
                Err(error) => _ = self.answer(key.at, Err(error)),
            }
        }
        if !late.is_empty() {
            self.load_late(late).await;
        }
        again
    }

    fn joined(&mut self, key: PendingKey, outcome: Outcome<V>) -> Option<PendingKey> {
        match outcome {
            Outcome::Found { found, known } if self.policy.accepts_shared(&found, known, self.began_at) => {
                self.answer(key.at, Ok(found))
            }
            Outcome::Found { .. } => Some(PendingKey { rejected_joins: key.rejected_joins + 1, ..key }),
            Outcome::Failed(error) => self.answer(key.at, Err(error)),
            Outcome::Nothing => Some(key),
        }
    }

    /// One run of the loader for keys that other readers have been loading for too long.
    async fn load_late(&mut self, late: Vec<usize>) {
        if let Err(error) = self.core.may_load_after_waiting(self.began) {
            return self.fail(late, &error);
        }
        let source = self.core.settings.source(self.policy.source(), true);
        let (core, loader, began) = (Arc::clone(self.core), (self.load)(&late, source), self.began);
        let (loaded_from, loaded_at) = (core.clock.now(), core.calls.tick());
        let run = async move {
            let _permit = core.admission.enter(began).await?;
            core.metrics.bypasses.count(Bypass::WaitedTooLong.as_str());
            core.load_rows(loader).await
        };
        // In a task of its own, so that its permit is released when the load ends and not when this caller is dropped.
        match evenkeel_link::support::spawn(run.in_current_span()).await.unwrap_or(Err(CacheError::LoaderDropped)) {
            Ok(mut rows) => {
                for at in late {
                    let row = rows.remove(self.keys[at].as_slice());
                    let loaded = self.core.loaded(row, loaded_from, loaded_at, source);
                    self.answer(at, loaded.map(|loaded| loaded.found));
                }
            }
            Err(error) => self.fail(late, &error),
        }
    }

    fn fail(&mut self, keys: impl IntoIterator<Item = usize>, error: &CacheError) {
        for at in keys {
            self.answer(at, Err(error.clone()));
        }
    }

    fn answer(&mut self, at: usize, answer: Result<Found<V>, CacheError>) -> Option<PendingKey> {
        self.answers[at] = Some(answer);
        None
    }

    /// Requests a lease for each key and loads the granted ones in one run. Returns the keys that others are loading, and how
    /// long to wait before the next try.
    async fn load_own(&mut self, led: Vec<LedKey<V>>) -> (Vec<PendingKey>, Option<Duration>) {
        if led.is_empty() {
            return (Vec::new(), None);
        }
        let permit = match self.core.admission.enter(self.began).await {
            Ok(permit) => permit,
            Err(error) => {
                for LedKey { key, completion, .. } in led {
                    completion.complete(Outcome::Failed(error.clone()));
                    self.answer(key.at, Err(error.clone()));
                }
                return (Vec::new(), None);
            }
        };
        let (asked_at, together_max) = (self.core.calls.tick(), self.core.store.together_max());
        let asked = in_groups(together_max, led.iter().map(|led| self.ask(&led.key, &led.completion))).await;
        let (mut own, mut handles, mut again) = (Vec::new(), Vec::new(), Vec::new());
        let mut pause: Option<Duration> = None;
        for (LedKey { key, completion, handle }, asked) in led.into_iter().zip(asked) {
            let waits_for_pause = !matches!(key.plan, Plan::FillOrServe(_));
            match self.core.next_step(asked, waits_for_pause, self.began) {
                NextStep::Load(lease) => {
                    own.push(OwnKey { completion, source: lease.source, lease: Some(lease) });
                    handles.push((key.at, handle));
                }
                NextStep::LoadPastStore(reason) => {
                    self.core.metrics.bypasses.count(reason.as_str());
                    let source = self.core.settings.source(self.reader(&key).source(), reason.needs_primary());
                    own.push(OwnKey { completion, source, lease: None });
                    handles.push((key.at, handle));
                }
                NextStep::AlreadyStored(found) => {
                    completion.complete(Outcome::already_stored(found.clone(), asked_at));
                    self.answer(key.at, Ok(found));
                }
                NextStep::FailReader(error) => {
                    completion.complete(Outcome::Nothing);
                    self.answer(key.at, Err(error));
                }
                NextStep::FailCall(error) => {
                    completion.complete(Outcome::Failed(error.clone()));
                    self.answer(key.at, Err(error));
                }
                NextStep::Wait { retry_after, .. } => {
                    // Other readers of this process may lead meanwhile.
                    completion.complete(Outcome::Nothing);
                    pause = Some(pause.map_or(retry_after, |pause| pause.min(retry_after)));
                    again.push(key);
                }
            }
        }
        let runs = if guard("batch_one_run") { 1 } else { own.len() };
        let (mut own, mut handles, permit) = (own.into_iter(), handles.into_iter(), Arc::new(permit));
        let size = own.len().div_ceil(runs.max(1));
        for _ in 0..runs {
            self.run(own.by_ref().take(size).collect(), handles.by_ref().take(size).collect(), Arc::clone(&permit))
                .await;
        }
        (again, pause)
    }

    /// Loads this batch's keys in a task of its own, because other readers may wait for them after this caller was dropped.
    async fn run(&mut self, mut own: Vec<OwnKey<V>>, handles: Vec<(usize, CallHandle<V>)>, permit: Arc<Admitted>) {
        if own.is_empty() {
            return;
        }
        let indexes: Vec<usize> = handles.iter().map(|(at, _)| *at).collect();
        // One run of the loader reads from one source: the primary, if any of its keys requires that.
        let needs_primary = own.iter().any(|own| own.source == Source::Primary);
        let source = if needs_primary { Source::Primary } else { Source::Replica };
        for lease in own.iter_mut().filter_map(|own| own.lease.as_mut()) {
            lease.source = source;
        }
        let (core, loader) = (Arc::clone(self.core), (self.load)(&indexes, source));
        let call = async move {
            core.load_batch(own, source, loader).await;
            drop(permit);
        };
        evenkeel_link::support::spawn(call.in_current_span());
        for (at, handle) in handles {
            match handle.outcome().await {
                Outcome::Found { found, .. } => self.answer(at, Ok(found)),
                Outcome::Failed(error) => self.answer(at, Err(error)),
                Outcome::Nothing => self.answer(at, Err(CacheError::LoaderDropped)),
            };
        }
    }

    /// The reader for which a key is loaded.
    fn reader(&self, key: &PendingKey) -> Reader {
        Reader { policy: self.policy, began: self.began, rejected_joins: key.rejected_joins }
    }

    async fn ask(&self, key: &PendingKey, completion: &Completion<V>) -> LeaseReply<V> {
        match key.plan {
            Plan::Fill(why) | Plan::FillOrServe(why) | Plan::Ahead(why) => {
                self.core.ask(completion.key(), why, self.reader(key)).await
            }
            Plan::Bypass(reason) => LeaseReply::Bypass(reason),
        }
    }
}

impl<V: Send + Sync + 'static> Core<V> {
    /// One run of the loader for several keys.
    async fn load_rows(&self, loader: BatchLoader<V>) -> Result<Rows<V>, CacheError> {
        let rows = self.timed(loader::run(loader, &self.clock, self.settings.load_timeout)).await?;
        self.metrics.loaded.increment(1);
        Ok(rows)
    }

    /// One run of the loader for all keys, then a fill and the completion of each key.
    async fn load_batch(&self, own: Vec<OwnKey<V>>, source: Source, loader: BatchLoader<V>) {
        let (began, began_at) = (self.clock.now(), self.calls.tick());
        let mut rows = self.load_rows(loader).await;
        let has_other_keys = self.has_other_keys(&rows, &own);
        let settled = own.into_iter().map(|OwnKey { completion, lease, .. }| {
            let row = take(&mut rows, &completion);
            let loaded = row.and_then(|row| self.loaded(row, began, began_at, source));
            async move {
                let outcome = match (lease, loaded) {
                    (Some(lease), Ok(loaded)) if has_other_keys && loaded.found.value.is_none() => {
                        self.settle_unproven(&lease, &completion, loaded).await
                    }
                    (Some(lease), loaded) => self.settle(&lease, &completion, loaded).await,
                    (None, Ok(Loaded { found, known })) => Outcome::Found { found, known },
                    (None, Err(error)) => Outcome::Failed(error),
                };
                completion.complete(outcome);
            }
        });
        in_groups(self.store.together_max(), settled).await;
    }

    /// Whether a run returned rows that were not requested in place of requested ones. The database may compare keys by other rules than
    /// the cache (a case-insensitive column), so that such a row may be the requested one.
    fn has_other_keys(&self, rows: &Result<Rows<V>, CacheError>, own: &[OwnKey<V>]) -> bool {
        let Ok(rows) = rows else { return false };
        let returned = own.iter().filter(|own| rows.contains_key(own.completion.key())).count();
        let has_other_keys = returned < own.len() && returned < rows.len();
        if has_other_keys && let Some(runs) = self.other_keys_log.line_due(self.clock.now()) {
            tracing::warn!(
                cache = %self.name,
                runs,
                "a batch loader returned rows for keys that were not requested, so the absence of the requested ones is not cached; \
                 return each row under the key that was requested (a case-insensitive column finds rows by other keys)"
            );
        }
        has_other_keys
    }
}

/// The row of one key, or the error of the whole run.
fn take<V>(rows: &mut Result<Rows<V>, CacheError>, completion: &Completion<V>) -> Result<Option<V>, CacheError> {
    match rows {
        Ok(rows) => Ok(rows.remove(completion.key())),
        Err(error) => Err(error.clone()),
    }
}

/// A batch of one key, as the loader of a single row.
fn only<V: Send + 'static>(key: &KeyBytes, load: BatchLoader<V>) -> loader::Loader<V> {
    let key: Box<[u8]> = key.as_slice().into();
    Box::new(|_| {
        Box::pin(async move {
            let mut rows = load.await?;
            match rows.remove(&key) {
                None if !rows.is_empty() => Err(own_error("the loader returned rows, but none for the requested key")),
                row => Ok(row),
            }
        })
    })
}
