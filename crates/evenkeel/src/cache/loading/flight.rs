//! One load per key and process: whoever finds a load of the same key under way waits for it instead of asking the database again.
//!
//! An invalidation *cuts* the flight of its key: it goes on for those who are on board, and a reader that comes later begins
//! another one instead of waiting for a load that it could not take. At most two loads of a key run at once; while both are cut,
//! further readers wait for the end of the older. What a reader may take of a load that it joined is decided when the load has
//! ended ([`Want::accepts_shared`](crate::cache::reading::demand::ReadPolicy::accepts_shared)).

use crate::cache::reading::found::Found;
use crate::cache::settings::freshness::Source;
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::error::CacheError;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// How a load ended, for all who waited for it.
pub(crate) enum Outcome<V> {
    /// A value.
    Found { found: Found<V>, known: Known },
    /// It failed, for everybody.
    Failed(CacheError),
    /// The load gave up, or went away with its runtime or its caller. Whoever needs the value loads it.
    Nothing,
}

impl<V> Outcome<V> {
    /// A value of which the store said, when it was asked then, that it may be served.
    pub(crate) fn landed(found: Found<V>, asked_at: Tick) -> Self {
        Self::Found { found, known: Known { at: asked_at, read_at: Tick::NEVER, source: Source::Primary } }
    }
}

// By hand: a value need not be `Clone` to be shared.
impl<V> Clone for Outcome<V> {
    fn clone(&self) -> Self {
        match self {
            Self::Found { found, known } => Self::Found { found: found.clone(), known: *known },
            Self::Failed(error) => Self::Failed(error.clone()),
            Self::Nothing => Self::Nothing,
        }
    }
}

/// A place in the order of what this process does about one cache: which of two things was sent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tick(u64);

impl Tick {
    /// Before everything: nothing is known.
    pub(crate) const NEVER: Self = Self(0);
}

/// What is known about a loaded value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    /// It reflects every invalidation that was acknowledged anywhere before this.
    pub(crate) at: Tick,
    /// The load of it began, at the primary; [`Tick::NEVER`] if it was read elsewhere.
    pub(crate) read_at: Tick,
    /// Where it was read. A replica's value proves nothing to a read that must see every write.
    pub(crate) source: Source,
}

/// The loads of one cache that are under way in this process.
pub(crate) struct SingleFlight<V> {
    table: Mutex<Table<V>>,
    ticks: AtomicU64,
    /// Those that are cut included.
    #[cfg(feature = "testing")]
    running_calls: watch::Sender<usize>,
}

type Table<V> = HashMap<Box<[u8]>, Loads<V>>;

/// Most loads of one key that run at once in this process.
const LOADS_PER_KEY_MAX: usize = 2;

/// The loads of one key.
struct Loads<V> {
    /// The older first.
    running: Vec<Arc<Call<V>>>,
    /// Whether readers may join the last of them, or an invalidation has come since it began.
    is_open: bool,
}

struct Call<V> {
    outcome: watch::Sender<Option<Outcome<V>>>,
}

/// What a reader that needs a load finds.
pub(crate) enum Joined<V> {
    /// Nobody loads this key: the reader starts the load.
    Leader(Completion<V>, CallHandle<V>),
    /// Somebody does.
    Follower(CallHandle<V>),
}

/// A place on a flight.
pub(crate) struct CallHandle<V>(watch::Receiver<Option<Outcome<V>>>);

/// The duty to end a flight. Dropped without [`complete`](Self::land), it tells those who wait that they must load for themselves.
pub(crate) struct Completion<V> {
    calls: Arc<SingleFlight<V>>,
    call: Arc<Call<V>>,
    key: Box<[u8]>,
    is_completed: bool,
}

impl<V> SingleFlight<V> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            table: Mutex::new(HashMap::new()),
            ticks: AtomicU64::new(0),
            #[cfg(feature = "testing")]
            running_calls: watch::Sender::new(0),
        })
    }

    /// Now: after every tick that was taken before, and before all that will be.
    pub(crate) fn tick(&self) -> Tick {
        Tick(self.ticks.fetch_add(1, Ordering::SeqCst) + 1)
    }

    /// Joins the flight of `key`, or starts one. `must_lead`: no flight of others will do, so one is started if there may be
    /// another.
    pub(crate) fn join_or_lead(self: &Arc<Self>, key: &[u8], must_lead: bool) -> Joined<V> {
        let mut table = self.table();
        let call = Arc::new(Call { outcome: watch::Sender::new(None) });
        if let Some(loads) = table.get_mut(key) {
            let is_full = loads.running.len() >= LOADS_PER_KEY_MAX && guard("two_loads_of_a_key");
            let joined = match &loads.running[..] {
                [.., last] if loads.is_open && !must_lead => Some(last),
                [older, ..] if is_full => Some(older),
                _ => None,
            };
            if let Some(joined) = joined {
                return Joined::Follower(CallHandle(joined.outcome.subscribe()));
            }
            loads.running.push(Arc::clone(&call));
            loads.is_open = true;
        } else {
            table.insert(key.into(), Loads { running: vec![Arc::clone(&call)], is_open: true });
        }
        #[cfg(feature = "testing")]
        self.running_calls.send_modify(|calls| *calls += 1);
        let handle = CallHandle(call.outcome.subscribe());
        Joined::Leader(Completion { calls: Arc::clone(self), call, key: key.into(), is_completed: false }, handle)
    }

    /// Starts a flight unless there is one to join.
    pub(crate) fn lead(self: &Arc<Self>, key: &[u8]) -> Option<Completion<V>> {
        match self.join_or_lead(key, false) {
            Joined::Leader(completion, _) => Some(completion),
            Joined::Follower(_) => None,
        }
    }

    /// Lets nobody join the flight of `key` any more. Whether what it brings may be stored, the store judges.
    pub(crate) fn cut(&self, key: &[u8]) {
        if let Some(loads) = self.table().get_mut(key) {
            loads.is_open = false;
        }
    }

    /// Waits until every flight has landed.
    #[cfg(feature = "testing")]
    pub(crate) async fn until_idle(&self) {
        let _ = self.running_calls.subscribe().wait_for(|calls| *calls == 0).await;
    }

    fn table(&self) -> MutexGuard<'_, Table<V>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> CallHandle<V> {
    /// Waits for the end of the flight.
    pub(crate) async fn outcome(mut self) -> Outcome<V> {
        match self.0.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(outcome)) => outcome.clone(),
            _ => Outcome::Nothing,
        }
    }
}

impl<V> Completion<V> {
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Ends the flight.
    pub(crate) fn complete(mut self, outcome: Outcome<V>) {
        self.end(outcome);
    }

    fn end(&mut self, outcome: Outcome<V>) {
        self.is_completed = true;
        let mut table = self.calls.table();
        if let Some(loads) = table.get_mut(&self.key) {
            // A younger one may be open still; if this was the youngest, nobody may join the older one in its place.
            let was_last = loads.running.last().is_some_and(|last| Arc::ptr_eq(last, &self.call));
            loads.is_open &= !was_last;
            loads.running.retain(|call| !Arc::ptr_eq(call, &self.call));
            if loads.running.is_empty() {
                table.remove(&self.key);
            }
        }
        drop(table);
        self.call.outcome.send_replace(Some(outcome));
        #[cfg(feature = "testing")]
        self.calls.running_calls.send_modify(|calls| *calls -= 1);
    }
}

impl<V> Drop for Completion<V> {
    fn drop(&mut self) {
        if !self.is_completed {
            self.end(Outcome::Nothing);
        }
    }
}
