//! One load per key and process: whoever finds a load of the same key under way waits for it instead of asking the database again.
//!
//! An invalidation *cuts* the flights of its key: they go on for those who are on board, but nobody who comes later may
//! join, because what they bring was read before. (A library that joined them served rows older than its own writes; see H1
//! in the tests.)

use super::error::CacheError;
use super::found::Found;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// How a load ended, for all who waited for it.
pub(crate) enum Outcome<V> {
    /// A value.
    Found {
        found: Found<V>,
        /// Whether the store took it, or somebody's, for the newest. If not, an invalidation came during the load: those
        /// who joined the flight later than the invalidation need another one.
        settled: bool,
        /// After this it was the newest value at some moment: the row was read from the primary then, or the store confirmed it.
        known_at: Tick,
    },
    /// It failed, for everybody.
    Failed(CacheError),
    /// The load gave up, or went away with its runtime or its caller. Whoever needs the value loads it.
    Nothing,
}

// By hand: a value need not be `Clone` to be shared.
impl<V> Clone for Outcome<V> {
    fn clone(&self) -> Self {
        match self {
            Self::Found { found, settled, known_at } => {
                Self::Found { found: found.clone(), settled: *settled, known_at: *known_at }
            }
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

/// The loads of one cache that are under way in this process.
pub(crate) struct Flights<V> {
    table: Mutex<Table<V>>,
    ticks: AtomicU64,
    /// Those that are cut included.
    #[cfg(feature = "testing")]
    in_the_air: watch::Sender<usize>,
}

type Table<V> = HashMap<Box<[u8]>, Arc<Flight<V>>>;

struct Flight<V> {
    outcome: watch::Sender<Option<Outcome<V>>>,
}

/// What a reader that needs a load finds.
pub(crate) enum Boarding<V> {
    /// Nobody loads this key: the reader starts the load.
    Lead(Landing<V>, Ticket<V>),
    /// Somebody does.
    Join(Ticket<V>),
}

/// A place on a flight.
pub(crate) struct Ticket<V>(watch::Receiver<Option<Outcome<V>>>);

/// The duty to end a flight. Dropped without [`land`](Self::land), it tells those who wait that they must load for themselves.
pub(crate) struct Landing<V> {
    flights: Arc<Flights<V>>,
    flight: Arc<Flight<V>>,
    key: Box<[u8]>,
    has_landed: bool,
}

impl<V> Flights<V> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            table: Mutex::new(HashMap::new()),
            ticks: AtomicU64::new(0),
            #[cfg(feature = "testing")]
            in_the_air: watch::Sender::new(0),
        })
    }

    /// Now: after every tick that was taken before, and before all that will be.
    pub(crate) fn tick(&self) -> Tick {
        Tick(self.ticks.fetch_add(1, Ordering::SeqCst) + 1)
    }

    /// Joins the flight of `key`, or starts one.
    pub(crate) fn board(self: &Arc<Self>, key: &[u8]) -> Boarding<V> {
        let mut table = self.table();
        if let Some(flight) = table.get(key) {
            return Boarding::Join(Ticket(flight.outcome.subscribe()));
        }
        let flight = Arc::new(Flight { outcome: watch::Sender::new(None) });
        table.insert(key.into(), Arc::clone(&flight));
        #[cfg(feature = "testing")]
        self.in_the_air.send_modify(|flights| *flights += 1);
        let ticket = Ticket(flight.outcome.subscribe());
        Boarding::Lead(Landing { flights: Arc::clone(self), flight, key: key.into(), has_landed: false }, ticket)
    }

    /// Starts a flight unless one is under way.
    pub(crate) fn lead(self: &Arc<Self>, key: &[u8]) -> Option<Landing<V>> {
        match self.board(key) {
            Boarding::Lead(landing, _) => Some(landing),
            Boarding::Join(_) => None,
        }
    }

    /// Lets nobody join the flight of `key` any more. Whether what it brings may be stored, the store judges.
    pub(crate) fn cut(&self, key: &[u8]) {
        self.table().remove(key);
    }

    /// Waits until every flight has landed.
    #[cfg(feature = "testing")]
    pub(crate) async fn until_none(&self) {
        let _ = self.in_the_air.subscribe().wait_for(|flights| *flights == 0).await;
    }

    fn table(&self) -> MutexGuard<'_, Table<V>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> Ticket<V> {
    /// Waits for the end of the flight.
    pub(crate) async fn outcome(mut self) -> Outcome<V> {
        match self.0.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(outcome)) => outcome.clone(),
            _ => Outcome::Nothing,
        }
    }
}

impl<V> Landing<V> {
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Ends the flight.
    pub(crate) fn land(mut self, outcome: Outcome<V>) {
        self.end(outcome);
    }

    fn end(&mut self, outcome: Outcome<V>) {
        self.has_landed = true;
        let mut table = self.flights.table();
        // After a cut there may be another flight in its place.
        if table.get(&self.key).is_some_and(|flight| Arc::ptr_eq(flight, &self.flight)) {
            table.remove(&self.key);
        }
        drop(table);
        self.flight.outcome.send_replace(Some(outcome));
        #[cfg(feature = "testing")]
        self.flights.in_the_air.send_modify(|flights| *flights -= 1);
    }
}

impl<V> Drop for Landing<V> {
    fn drop(&mut self) {
        if !self.has_landed {
            self.end(Outcome::Nothing);
        }
    }
}
