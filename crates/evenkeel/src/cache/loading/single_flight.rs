//! Single-flight: one load per key and process. A reader that finds a running load of the same key waits for it instead of
//! querying the database again.
//!
//! An invalidation *closes* the call of its key to new readers: the call continues for the readers that have joined it, and a
//! later reader starts another one instead of waiting for a value that it would have to reject. At most two loads of a key run
//! at once; while both are closed, further readers wait for the end of the older. Whether a reader may use a load that it
//! joined is decided when the load has ended
//! ([`ReadPolicy::accepts_shared`](crate::cache::reading::demand::ReadPolicy::accepts_shared)).

use crate::cache::reading::found::Found;
use crate::cache::settings::freshness::Source;
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::error::CacheError;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::watch;

/// The outcome of a load, for all readers that waited for it.
pub(crate) enum Outcome<V> {
    /// A value.
    Found { found: Found<V>, known: Known },
    /// It failed for all readers.
    Failed(CacheError),
    /// The load gave up, or was dropped with its runtime or its caller. A reader that needs the value loads it.
    Nothing,
}

impl<V> Outcome<V> {
    /// A value that the store declared servable when the request at `asked_at` was sent.
    pub(crate) fn already_stored(found: Found<V>, asked_at: Tick) -> Self {
        Self::Found { found, known: Known { at: asked_at, read_at: Tick::NEVER, source: Source::Primary } }
    }
}

// Not derived, because a shared value need not be `Clone`.
impl<V> Clone for Outcome<V> {
    fn clone(&self) -> Self {
        match self {
            Self::Found { found, known } => Self::Found { found: found.clone(), known: *known },
            Self::Failed(error) => Self::Failed(error.clone()),
            Self::Nothing => Self::Nothing,
        }
    }
}

/// A position in the order of this process's requests for one cache: decides which of two requests was sent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tick(u64);

impl Tick {
    /// Before all requests: nothing is known.
    pub(crate) const NEVER: Self = Self(0);
}

/// What is known about a loaded value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    /// It reflects every invalidation that was acknowledged in any process before this.
    pub(crate) at: Tick,
    /// When its load began at the primary; [`Tick::NEVER`] if it was read from another source.
    pub(crate) read_at: Tick,
    /// The source of the load. A replica's value proves nothing to a read that must see every write.
    pub(crate) source: Source,
}

/// The running loads of one cache in this process.
pub(crate) struct SingleFlight<V> {
    table: Mutex<Table<V>>,
    ticks: AtomicU64,
    /// Includes closed calls.
    #[cfg(feature = "testing")]
    running_calls: watch::Sender<usize>,
}

type Table<V> = HashMap<Box<[u8]>, Loads<V>>;

/// The maximum number of concurrent loads of one key in this process.
const LOADS_PER_KEY_MAX: usize = 2;

/// The loads of one key.
struct Loads<V> {
    /// The oldest first.
    running: Vec<Arc<Call<V>>>,
    /// Whether readers may join the last of them; false after an invalidation.
    is_open: bool,
}

struct Call<V> {
    outcome: watch::Sender<Option<Outcome<V>>>,
}

/// The role of a reader that needs a load.
pub(crate) enum Joined<V> {
    /// There is no load to join: the reader starts one.
    Leader(Completion<V>, CallHandle<V>),
    /// Another reader loads this key.
    Follower(CallHandle<V>),
}

/// A handle that waits for the outcome of a call.
pub(crate) struct CallHandle<V>(watch::Receiver<Option<Outcome<V>>>);

/// Completes a call. If it is dropped without [`complete`](Self::complete), the waiting readers must load for
/// themselves.
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

    /// The next tick, which is after all earlier ones and before all later ones.
    pub(crate) fn tick(&self) -> Tick {
        Tick(self.ticks.fetch_add(1, Ordering::SeqCst) + 1)
    }

    /// Joins the call of `key`, or starts one. With `must_lead` the reader accepts no other load, so one is started if the
    /// limit allows it.
    pub(crate) fn join_or_lead(self: &Arc<Self>, key: &[u8], must_lead: bool) -> Joined<V> {
        let mut table = self.table.lock();
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

    /// Starts a call unless there is one to join.
    pub(crate) fn lead(self: &Arc<Self>, key: &[u8]) -> Option<Completion<V>> {
        match self.join_or_lead(key, false) {
            Joined::Leader(completion, _) => Some(completion),
            Joined::Follower(_) => None,
        }
    }

    /// Closes the call of `key` to new readers. The store decides whether its value may be stored.
    pub(crate) fn close(&self, key: &[u8]) {
        if let Some(loads) = self.table.lock().get_mut(key) {
            loads.is_open = false;
        }
    }

    /// Waits until every call is complete.
    #[cfg(feature = "testing")]
    pub(crate) async fn until_idle(&self) {
        let _ = self.running_calls.subscribe().wait_for(|calls| *calls == 0).await;
    }
}

impl<V> CallHandle<V> {
    /// Waits for the end of the call.
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

    /// Completes the call.
    pub(crate) fn complete(mut self, outcome: Outcome<V>) {
        self.end(outcome);
    }

    fn end(&mut self, outcome: Outcome<V>) {
        self.is_completed = true;
        let mut table = self.calls.table.lock();
        if let Some(loads) = table.get_mut(&self.key) {
            // A newer call may still be open. If this was the newest, readers must not join an older, closed one in its place.
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
