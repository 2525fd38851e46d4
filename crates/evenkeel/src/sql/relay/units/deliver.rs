//! Carries out the units of work of one claim. Each destination (Redis, each sink, each topic that is full) has its own gate and its
//! own permits, so that one that is unavailable or hangs delays only what is sent to it.

use super::claim::Claim;
use crate::sql::outbox::carry::Progress;
use crate::sql::outbox::effect::Message;
use crate::sql::outbox::{Effect, WorkId, format};
use crate::sql::relay::core::Core;
use crate::sql::relay::gate::Gate;
use crate::sql::relay::rows::Claimed;
use crate::sql::sink::{Envelope, SinkError};
use crate::trace::{self, OutboxOperation};
use evenkeel_link::clock::Moment;
use evenkeel_link::support::guard;
use futures_util::future::join_all;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};
use tracing::Instrument;

/// The maximum number of concurrent calls to one destination.
const CONCURRENCY: usize = 64;

/// The maximum number of units of work whose progress is retained.
const PROGRESS_MAX: usize = 10_000;

/// Where an effect is carried out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Destination {
    /// Redis: invalidations and jobs.
    Store,
    /// A sink, by the index of its route.
    Sink(usize),
    /// A topic whose sink reports that it accepts no more for now.
    Topic(String),
}

/// The result of delivering one unit of work.
#[derive(Debug)]
pub(super) enum UnitOutcome {
    Done,
    /// These destinations are unavailable: no attempt is counted.
    Unavailable(BTreeSet<Destination>, String),
    /// No sink of this program accepts this topic.
    Unrouted(String),
    Failed(String),
}

impl UnitOutcome {
    fn unavailable(destination: Destination, error: impl Into<String>) -> Self {
        Self::Unavailable(BTreeSet::from([destination]), error.into())
    }

    fn late(destination: Destination) -> Self {
        Self::unavailable(destination, "the claim expired before it was sent")
    }

    /// The outcome of both: a failure takes precedence over an unavailable destination, which takes precedence over a missing route.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (_, failed @ Self::Failed(_)) | (failed @ Self::Failed(_), _) => failed,
            (Self::Unavailable(mut destinations, error), Self::Unavailable(more, _)) => {
                destinations.extend(more);
                Self::Unavailable(destinations, error)
            }
            (_, unavailable @ Self::Unavailable(..)) | (unavailable @ Self::Unavailable(..), _) => unavailable,
            (_, unrouted @ Self::Unrouted(_)) | (unrouted @ Self::Unrouted(_), _) => unrouted,
            (Self::Done, Self::Done) => Self::Done,
        }
    }
}

/// The state kept between claims.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    pub(super) gates: HashMap<Destination, Gate>,
    /// The connection to Redis when its gate was last closed or reopened.
    store_epoch: Option<u64>,
    /// The effects already carried out of units of work that are not done: later passes skip them.
    progress: HashMap<WorkId, Progress>,
}

/// Admission to one destination during one claim.
struct Admission {
    is_closed: bool,
    in_doubt: bool,
    places_max: usize,
    places: Semaphore,
    taken: AtomicBool,
    is_unavailable: AtomicBool,
}

/// The destination is not tried.
struct Closed;

impl Admission {
    fn of(gate: Option<&Gate>, places_max: usize, now: Moment) -> Self {
        let in_doubt = gate.is_some_and(Gate::is_in_doubt);
        Self {
            is_closed: gate.is_some_and(|gate| gate.closed_for(now).is_some()),
            in_doubt,
            places_max,
            // One call finds out whether a destination is available again.
            places: Semaphore::new(if in_doubt { 1 } else { places_max }),
            taken: AtomicBool::new(false),
            is_unavailable: AtomicBool::new(false),
        }
    }

    async fn enter(&self, places: usize) -> Result<SemaphorePermit<'_>, Closed> {
        if self.is_closed {
            return Err(Closed);
        }
        let places = if self.in_doubt { 1 } else { places.clamp(1, self.places_max) };
        // The semaphore is never closed.
        let permit = self.places.acquire_many(u32::try_from(places).unwrap_or(1)).await.map_err(|_| Closed)?;
        let is_unavailable = self.is_unavailable.load(Ordering::Relaxed) && !self.taken.load(Ordering::Relaxed);
        if is_unavailable { Err(Closed) } else { Ok(permit) }
    }

    fn answered(&self, is_unavailable: bool) {
        if is_unavailable {
            self.is_unavailable.store(true, Ordering::Relaxed);
        } else if !self.taken.swap(true, Ordering::Relaxed) && self.in_doubt {
            self.places.add_permits(self.places_max - 1);
        }
    }
}

/// The admissions to all destinations of one claim.
struct Admissions<'a> {
    gates: &'a HashMap<Destination, Gate>,
    now: Moment,
    store_places: usize,
    found: Mutex<HashMap<Destination, Arc<Admission>>>,
}

impl Admissions<'_> {
    /// Used by the mutant in which one closed gate stops all destinations.
    fn any_closed(&self) -> Option<&Gate> {
        let closed = |gate: &&Gate| gate.closed_for(self.now).is_some();
        if guard("relay_gates_are_separate") { None } else { self.gates.values().find(closed) }
    }

    fn to(&self, destination: &Destination) -> Arc<Admission> {
        let mut found = self.found.lock();
        if let Some(admission) = found.get(destination) {
            return Arc::clone(admission);
        }
        let gate = self.gates.get(destination).or_else(|| self.any_closed());
        let places_max = if *destination == Destination::Store { self.store_places } else { CONCURRENCY };
        let admission = Arc::new(Admission::of(gate, places_max, self.now));
        found.insert(destination.clone(), Arc::clone(&admission));
        admission
    }
}

impl Delivery {
    /// Carries out everything that was claimed, concurrently; nothing is started once the claim is late. Also returns whether a
    /// destination became available again.
    pub(super) async fn carry_out(
        &mut self,
        core: &Core,
        mut claimed: Vec<Claimed>,
        claim: &Claim,
    ) -> (Vec<(Claimed, UnitOutcome)>, bool) {
        // The call that tests a destination should not be the one that may have made it fail.
        claimed.sort_by_key(|row| row.attempts);
        Gate::next_in_turn(self.gates.values(), &mut claimed);
        let (store_places, _) = store_places(core.shared.in_flight_max());
        let admissions =
            Admissions { gates: &self.gates, now: core.clock().now(), store_places, found: Mutex::default() };
        let carried = claimed.into_iter().map(|row| {
            let so_far = self.progress.remove(&row.work).unwrap_or_default();
            let admissions = &admissions;
            async move {
                let delivery = UnitDelivery { core, admissions, claim, work: row.work };
                let span = trace::outbox(OutboxOperation::Process, row.work, row.trace.as_deref());
                let outcome = delivery.carry(&row, &so_far).instrument(span.clone()).await;
                if let UnitOutcome::Failed(error) = &outcome {
                    trace::failed(&span, error);
                }
                (row, outcome, so_far)
            }
        });
        let carried = join_all(carried).await;
        let found = admissions.found.into_inner();
        let has_opened = self.update_gates(core, found);
        let outcomes = carried.into_iter().map(|(row, outcome, so_far)| {
            let is_over = matches!(outcome, UnitOutcome::Done);
            if !is_over && so_far.count() > 0 && self.progress.len() < PROGRESS_MAX {
                self.progress.insert(row.work, so_far);
            }
            (row, outcome)
        });
        (outcomes.collect(), has_opened)
    }

    fn update_gates(&mut self, core: &Core, found: HashMap<Destination, Arc<Admission>>) -> bool {
        let mut has_opened = false;
        for (destination, admission) in found {
            if admission.taken.load(Ordering::Relaxed) {
                has_opened |= self.gates.remove(&destination).is_some();
            } else if admission.is_unavailable.load(Ordering::Relaxed) {
                let gate = self.gates.entry(destination.clone()).or_default();
                if !gate.is_in_doubt() {
                    tracing::warn!(to = ?destination, "destination unavailable; its effects wait in the outbox");
                }
                gate.close(core.clock().now());
                if destination == Destination::Store {
                    self.store_epoch = core.shared.link_epoch();
                }
            }
        }
        has_opened
    }

    /// Lets the next call test Redis at once if the link has connected again since its gate was closed. Returns whether it has.
    pub(super) fn reopen_store(&mut self, core: &Core) -> bool {
        let epoch = core.shared.link_epoch();
        let Some(gate) = self.gates.get_mut(&Destination::Store) else { return false };
        if epoch.is_none() || epoch == self.store_epoch {
            return false;
        }
        self.store_epoch = epoch;
        gate.reopen();
        true
    }

    /// The longest time for which one of these destinations is not tried.
    pub(super) fn closed_for(&self, destinations: &BTreeSet<Destination>, now: Moment) -> Duration {
        let left = destinations.iter().filter_map(|destination| self.gates.get(destination)?.closed_for(now));
        left.max().unwrap_or_default()
    }

    /// Discards the progress of a unit of work that was parked: it starts again if an operator releases it.
    pub(super) fn forget(&mut self, work: WorkId) {
        self.progress.remove(&work);
    }
}

/// The delivery of one unit of work.
struct UnitDelivery<'a> {
    core: &'a Core,
    admissions: &'a Admissions<'a>,
    claim: &'a Claim,
    work: WorkId,
}

impl UnitDelivery<'_> {
    async fn carry(&self, row: &Claimed, so_far: &Progress) -> UnitOutcome {
        let effects = match format::decode(row.effects.clone()) {
            Ok(effects) => effects,
            Err(error) => return UnitOutcome::Failed(error.to_string()),
        };
        // Readers of a message may read the data that it refers to, so it is not sent before the invalidations.
        if let Err(failure) = self.to_store(&effects, so_far).await {
            return failure;
        }
        let messages = effects.iter().enumerate().filter_map(|(number, effect)| match effect {
            Effect::Publish(message) if !so_far.has(number) => Some((number, message)),
            _ => None,
        });
        let sent = join_all(messages.map(async |(number, message)| (number, self.to_sink(number, message).await)));
        let mut outcome = UnitOutcome::Done;
        for (number, answer) in sent.await {
            match answer {
                Ok(()) => so_far.add(number),
                Err(failure) => outcome = outcome.and(failure),
            }
        }
        outcome
    }

    /// Carries out the invalidations and jobs that are left.
    async fn to_store(&self, effects: &[Effect], so_far: &Progress) -> Result<(), UnitOutcome> {
        let is_left =
            |(number, effect): &(usize, &Effect)| !matches!(effect, Effect::Publish(_)) && !so_far.has(*number);
        let left = effects.iter().enumerate().filter(is_left).count();
        if left == 0 {
            return Ok(());
        }
        let admission = self.admissions.to(&Destination::Store);
        let closed = |_| UnitOutcome::unavailable(Destination::Store, "Redis is unavailable");
        let (together_max, (_, place)) =
            (self.core.shared.together_max(), store_places(self.core.shared.in_flight_max()));
        let _places = admission.enter(left.min(together_max).div_ceil(place)).await.map_err(closed)?;
        if self.is_late() {
            return Err(UnitOutcome::late(Destination::Store));
        }
        let before = so_far.count();
        let step = self.core.shared.carry_out_in_store(self.work, effects, so_far);
        let answer = self.core.clock().timeout(self.core.settings.deadline, step).await;
        let has_advanced = so_far.count() > before;
        let error = match answer {
            Ok(Ok(())) => {
                admission.answered(false);
                return Ok(());
            }
            Ok(Err(error)) if !error.is_unavailable() || !guard("relay_away_is_no_attempt") => {
                admission.answered(false);
                return Err(UnitOutcome::Failed(error.to_string()));
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "Redis did not reply in time".to_owned(),
        };
        admission.answered(!has_advanced);
        // Of a unit of work with many effects some have been carried out: the next pass continues there.
        let waits_for = if has_advanced { BTreeSet::new() } else { BTreeSet::from([Destination::Store]) };
        Err(UnitOutcome::Unavailable(waits_for, error))
    }

    async fn to_sink(&self, number: usize, message: &Message) -> Result<(), UnitOutcome> {
        let Some(route) = self.core.routes.route_of(&message.topic) else {
            return Err(UnitOutcome::Unrouted(message.topic.clone()));
        };
        let of_topic = Destination::Topic(message.topic.clone());
        let topic = self.admissions.gates.contains_key(&of_topic).then(|| self.admissions.to(&of_topic));
        let _turn = match &topic {
            Some(admission) => {
                let closed =
                    |_| UnitOutcome::unavailable(of_topic.clone(), "the topic accepts no more messages for now");
                Some(admission.enter(1).await.map_err(closed)?)
            }
            None => None,
        };
        let of_sink = Destination::Sink(route);
        let sink = self.admissions.to(&of_sink);
        let closed = |_| UnitOutcome::unavailable(of_sink.clone(), "the sink is unavailable");
        let _place = sink.enter(1).await.map_err(closed)?;
        if self.is_late() {
            return Err(UnitOutcome::late(of_sink));
        }
        let envelope = Envelope::unordered(self.work, number, message);
        let deadline = self.core.settings.deadline;
        let sent = self.core.routes.publish(&envelope);
        let Ok(answer) = self.core.clock().timeout(deadline, sent).await else {
            sink.answered(true);
            let error = format!("the sink did not reply within {deadline:?}; the call was dropped");
            let hangs = guard("relay_counts_hangs");
            return Err(if hangs { UnitOutcome::Failed(error) } else { UnitOutcome::unavailable(of_sink, error) });
        };
        let Err(error) = answer else {
            sink.answered(false);
            if let Some(admission) = &topic {
                admission.answered(false);
            }
            return Ok(());
        };
        sink.answered(error.is_unavailable());
        let is_busy = matches!(error, SinkError::Busy(_));
        if is_busy {
            self.admissions.to(&of_topic).answered(true);
        }
        let counts_as_attempt = error.counts_as_attempt() || !guard("relay_away_is_no_attempt");
        let text = error.to_string();
        Err(match counts_as_attempt {
            true => UnitOutcome::Failed(text),
            false if is_busy => UnitOutcome::unavailable(of_topic, text),
            false => UnitOutcome::unavailable(of_sink, text),
        })
    }

    /// Whether a call started now could outlive the claim.
    fn is_late(&self) -> bool {
        self.claim.is_late(self.core.clock().now())
    }
}

/// The calls to Redis that run at once, and the effects for which a unit of work takes the place of one of them: together they use four
/// fifths of the commands that the link allows in flight.
fn store_places(in_flight_max: usize) -> (usize, usize) {
    let effects = (in_flight_max - in_flight_max / 5).max(1);
    let places = CONCURRENCY.min(effects);
    (places, effects / places)
}
