//! Carries out the works of one claim. Each destination (Redis, each sink, each topic that is full) has a gate and places of its own,
//! so that one that is away or hangs holds up nothing but what is for it.

use super::core::Core;
use super::gate::Gate;
use super::publisher::envelope;
use super::rows::Claimed;
use crate::sql::database::Database;
use crate::sql::outbox::effect::Message;
use crate::sql::outbox::{Carrier, Effect, WorkId, format};
use crate::sql::sink::SinkError;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::guard;
use futures_util::future::join_all;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Calls to one destination that are under way at the same time.
const CONCURRENCY: usize = 64;

/// Works whose progress is remembered at most.
const PROGRESS_MAX: usize = 10_000;

/// What an effect is carried out by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Destination {
    /// Redis: invalidations and jobs.
    Store,
    /// A sink, by the number of its route.
    Sink(usize),
    /// A topic whose sink says that it takes no more now.
    Topic(String),
}

/// What became of one work.
#[derive(Debug)]
pub(super) enum Fate {
    Done,
    /// These destinations take nothing now: no attempt is counted.
    Away(BTreeSet<Destination>, String),
    /// No sink of this program takes this topic.
    Unrouted(String),
    Failed(String),
}

/// What is remembered between claims.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    pub(super) gates: HashMap<Destination, Gate>,
    /// What has been carried out of works that are not done: it is not repeated with every look.
    progress: HashMap<WorkId, Progress>,
}

#[derive(Debug, Default, Clone)]
struct Progress {
    store: bool,
    messages: HashSet<usize>,
}

/// The way to one destination during one claim.
struct Door {
    is_closed: bool,
    in_doubt: bool,
    places: Semaphore,
    taken: AtomicBool,
    away: AtomicBool,
}

/// Why nothing is tried.
struct Closed;

impl Door {
    fn of(gate: Option<&Gate>, now: Moment) -> Self {
        let in_doubt = gate.is_some_and(Gate::is_in_doubt);
        Self {
            is_closed: gate.is_some_and(|gate| gate.closed_for(now).is_some()),
            in_doubt,
            // Whether somebody is there again, one finds out.
            places: Semaphore::new(if in_doubt { 1 } else { CONCURRENCY }),
            taken: AtomicBool::new(false),
            away: AtomicBool::new(false),
        }
    }

    async fn enter(&self) -> Result<SemaphorePermit<'_>, Closed> {
        if self.is_closed {
            return Err(Closed);
        }
        // Never closed.
        let permit = self.places.acquire().await.map_err(|_| Closed)?;
        let is_away = self.away.load(Ordering::Relaxed) && !self.taken.load(Ordering::Relaxed);
        if is_away { Err(Closed) } else { Ok(permit) }
    }

    fn answered(&self, is_away: bool) {
        if is_away {
            self.away.store(true, Ordering::Relaxed);
        } else if !self.taken.swap(true, Ordering::Relaxed) && self.in_doubt {
            self.places.add_permits(CONCURRENCY - 1);
        }
    }
}

/// The doors that one claim has come to.
struct Doors<'a> {
    gates: &'a HashMap<Destination, Gate>,
    now: Moment,
    found: Mutex<HashMap<Destination, Arc<Door>>>,
}

impl Doors<'_> {
    /// What was wrong with one gate for all: the mutant of it.
    fn any_closed(&self) -> Option<&Gate> {
        let closed = |gate: &&Gate| gate.closed_for(self.now).is_some();
        if guard("relay_gates_are_separate") { None } else { self.gates.values().find(closed) }
    }

    fn to(&self, destination: &Destination) -> Arc<Door> {
        let mut found = self.found.lock();
        if let Some(door) = found.get(destination) {
            return Arc::clone(door);
        }
        let gate = self.gates.get(destination).or_else(|| self.any_closed());
        let door = Arc::new(Door::of(gate, self.now));
        found.insert(destination.clone(), Arc::clone(&door));
        door
    }
}

impl Delivery {
    /// Carries out what was claimed, all of it at once; nothing is begun after `until`. Also the destinations that take something
    /// again after they had not.
    pub(super) async fn carry_out<DB: Database>(
        &mut self,
        core: &Core<DB>,
        mut claimed: Vec<Claimed>,
        until: Moment,
    ) -> (Vec<(Claimed, Fate)>, bool) {
        // Whether a sink is there again is not asked by the one that may have been the trouble.
        claimed.sort_by_key(|row| row.attempts);
        let carrier = Carrier::new(core.keel.clone(), None);
        let doors = Doors { gates: &self.gates, now: core.clock().now(), found: Mutex::default() };
        let progress = &self.progress;
        let carried = claimed.into_iter().map(|row| {
            let mut so_far = progress.get(&row.work).cloned().unwrap_or_default();
            let (carrier, doors) = (&carrier, &doors);
            async move {
                let trip = Trip { core, carrier, doors, until, work: row.work };
                let fate = trip.carry(&row, &mut so_far).await;
                (row, fate, so_far)
            }
        });
        let carried = join_all(carried).await;
        let found = doors.found.into_inner();
        let has_opened = self.judge_gates(core, found);
        let fates = carried.into_iter().map(|(row, fate, so_far)| {
            let is_over = matches!(fate, Fate::Done);
            if is_over || self.progress.len() >= PROGRESS_MAX {
                self.progress.remove(&row.work);
            } else if so_far.store || !so_far.messages.is_empty() {
                self.progress.insert(row.work, so_far);
            }
            (row, fate)
        });
        (fates.collect(), has_opened)
    }

    fn judge_gates<DB: Database>(&mut self, core: &Core<DB>, found: HashMap<Destination, Arc<Door>>) -> bool {
        let mut has_opened = false;
        for (destination, door) in found {
            if door.taken.load(Ordering::Relaxed) {
                has_opened |= self.gates.remove(&destination).is_some();
            } else if door.away.load(Ordering::Relaxed) {
                let gate = self.gates.entry(destination.clone()).or_default();
                if !gate.is_in_doubt() {
                    tracing::warn!(to = ?destination, "a destination of the outbox takes nothing now; what is for it waits");
                }
                gate.closed(core.clock().now());
            }
        }
        has_opened
    }

    /// How long these destinations are left alone.
    pub(super) fn closed_for(&self, destinations: &BTreeSet<Destination>, now: Moment) -> Duration {
        let left = destinations.iter().filter_map(|destination| self.gates.get(destination)?.closed_for(now));
        left.max().unwrap_or_default()
    }

    /// The work begins anew: a person has to decide about it.
    pub(super) fn forget(&mut self, work: WorkId) {
        self.progress.remove(&work);
    }
}

/// One work on its way.
struct Trip<'a, DB: Database> {
    core: &'a Core<DB>,
    carrier: &'a Carrier,
    doors: &'a Doors<'a>,
    until: Moment,
    work: WorkId,
}

/// What became of the parts of a work.
#[derive(Default)]
struct Parts {
    away: BTreeMap<Destination, String>,
    failed: Option<String>,
    unrouted: Option<String>,
}

impl<DB: Database> Trip<'_, DB> {
    async fn carry(&self, row: &Claimed, so_far: &mut Progress) -> Fate {
        let effects = match format::decode(row.effects.clone()) {
            Ok(effects) => effects,
            Err(error) => return Fate::Failed(error.to_string()),
        };
        let mut parts = Parts::default();
        if !so_far.store {
            so_far.store = self.to_store(&effects, &mut parts).await;
        }
        // A message may say what readers then look up: it does not go before the invalidations.
        if so_far.store {
            let messages = effects.iter().enumerate().filter_map(|(number, effect)| match effect {
                Effect::Publish(message) if !so_far.messages.contains(&number) => Some((number, message)),
                _ => None,
            });
            let sent = join_all(messages.map(async |(number, message)| (number, self.to_sink(number, message).await)));
            for (number, answer) in sent.await {
                match answer {
                    Ok(()) => drop(so_far.messages.insert(number)),
                    Err(trouble) => parts.note(trouble),
                }
            }
        }
        parts.fate()
    }

    /// Invalidations and jobs; whether they are done.
    async fn to_store(&self, effects: &[Effect], parts: &mut Parts) -> bool {
        if effects.iter().all(|effect| matches!(effect, Effect::Publish(_))) {
            return true;
        }
        let door = self.doors.to(&Destination::Store);
        let Ok(_place) = door.enter().await else {
            parts.note(Trouble::Away(Destination::Store, "Redis is away".to_owned()));
            return false;
        };
        if self.is_late() {
            parts.note(Trouble::late(Destination::Store));
            return false;
        }
        let step = self.carrier.carry_out_in_store(self.work, effects);
        let answer = self.core.clock().timeout(self.core.settings.deadline, step).await;
        door.answered(match &answer {
            Ok(answer) => answer.as_ref().is_err_and(|error| error.is_away()),
            Err(_) => true,
        });
        parts.note(match answer {
            Ok(Ok(())) => return true,
            Ok(Err(error)) if error.is_away() && guard("relay_away_is_no_attempt") => {
                Trouble::Away(Destination::Store, error.to_string())
            }
            Ok(Err(error)) => Trouble::Failed(error.to_string()),
            Err(_) => Trouble::Away(Destination::Store, "Redis did not answer in time".to_owned()),
        });
        false
    }

    async fn to_sink(&self, number: usize, message: &Message) -> Result<(), Trouble> {
        let Some(route) = self.core.sinks.route_of(&message.topic) else {
            return Err(Trouble::Unrouted(message.topic.clone()));
        };
        let of_topic = Destination::Topic(message.topic.clone());
        let topic = self.doors.gates.contains_key(&of_topic).then(|| self.doors.to(&of_topic));
        let _turn = match &topic {
            Some(door) => {
                let closed = |_| Trouble::Away(of_topic.clone(), "the topic takes no more now".to_owned());
                Some(door.enter().await.map_err(closed)?)
            }
            None => None,
        };
        let of_sink = Destination::Sink(route);
        let sink = self.doors.to(&of_sink);
        let closed = |_| Trouble::Away(of_sink.clone(), "the sink is away".to_owned());
        let _place = sink.enter().await.map_err(closed)?;
        if self.is_late() {
            return Err(Trouble::late(of_sink));
        }
        let envelope = envelope(self.work, number, message);
        let deadline = self.core.settings.deadline;
        let sent = self.core.sinks.publish_all(std::slice::from_ref(&envelope));
        let Ok(mut answers) = self.core.clock().timeout(deadline, sent).await else {
            sink.answered(true);
            let error = format!("the sink gave no answer within {deadline:?}; the call was dropped");
            let hangs = guard("relay_counts_hangs");
            return Err(if hangs { Trouble::Failed(error) } else { Trouble::Away(of_sink, error) });
        };
        let error = match answers.pop() {
            Some(Ok(_)) => {
                sink.answered(false);
                if let Some(door) = &topic {
                    door.answered(false);
                }
                return Ok(());
            }
            Some(Err(error)) => error,
            None => SinkError::Retry("the sink gave no answer".to_owned()),
        };
        sink.answered(error.is_away());
        let is_busy = matches!(error, SinkError::Busy(_));
        if is_busy {
            self.doors.to(&of_topic).answered(true);
        }
        let is_trouble_of_message = error.counts_as_attempt() || !guard("relay_away_is_no_attempt");
        let words = error.to_string();
        Err(match is_trouble_of_message {
            true => Trouble::Failed(words),
            false if is_busy => Trouble::Away(of_topic, words),
            false => Trouble::Away(of_sink, words),
        })
    }

    /// What is begun now could outlive the claim.
    fn is_late(&self) -> bool {
        self.core.clock().now() >= self.until
    }
}

/// What happened to a part of a work.
enum Trouble {
    Away(Destination, String),
    Unrouted(String),
    Failed(String),
}

impl Trouble {
    fn late(destination: Destination) -> Self {
        Self::Away(destination, "its turn did not come within the claim".to_owned())
    }
}

impl Parts {
    fn note(&mut self, trouble: Trouble) {
        match trouble {
            Trouble::Away(destination, error) => drop(self.away.insert(destination, error)),
            Trouble::Unrouted(topic) => self.unrouted = Some(topic),
            Trouble::Failed(error) => self.failed = Some(error),
        }
    }

    /// A failure counts, whatever else happened; what nobody here knows is told last.
    fn fate(self) -> Fate {
        if let Some(error) = self.failed {
            return Fate::Failed(error);
        }
        if let Some(error) = self.away.values().next().cloned() {
            return Fate::Away(self.away.into_keys().collect(), error);
        }
        self.unrouted.map_or(Fate::Done, Fate::Unrouted)
    }
}
