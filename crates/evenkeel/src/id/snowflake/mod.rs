//! [`Snowflake`]: ids from reserved time.

mod builder;
mod keeper;
mod words;

pub use builder::SnowflakeBuilder;

use super::id::Id;
use crate::context::Context;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Background, guard};
use evenkeel_protocol::id::ScopeBackend;
#[cfg(feature = "sql")]
use evenkeel_protocol::id::WitnessBackend;
use evenkeel_protocol::id::error::IdError;
use evenkeel_protocol::id::layout::Parts;
use keeper::Keeper;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

/// The scopes of one keel. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Scopes {
    pub(crate) backend: ScopeBackend,
    #[cfg(feature = "sql")]
    pub(crate) witnesses: WitnessBackend,
    pub(crate) clock: Clock,
}

/// A generator of ids in one scope, with a worker id of its own. Cheap to clone: build one per process and scope.
///
/// **Guarantee.** No id of the scope is issued twice, by any process: not after a step of any clock, a restart, a suspend, a reused worker
/// id, a lease that was lost unnoticed, or a failover that lost commits. The ids of one generator rise.
/// **Not guaranteed.** In a copied process image (a snapshot of a virtual machine that runs twice); if the store loses commits *and* its clock
/// is behind by more than [`margin`](SnowflakeBuilder::margin), or its settings were different; order between processes beyond the time
/// reserved [`ahead`](SnowflakeBuilder::ahead).
///
/// The first id comes [`margin`](SnowflakeBuilder::margin) after the generator was built. While the last clone exists, the worker id is
/// extended in the background; afterwards its lease ends by itself. Needs a tokio runtime.
#[derive(Clone)]
pub struct Snowflake(Arc<Inner>);

struct Inner {
    keeper: Arc<Keeper>,
    wait: Duration,
    /// Ends with the last clone.
    _loop: Background,
}

impl Scopes {
    pub(crate) fn new(context: &Context) -> Self {
        let clock = context.clock.clone();
        let backend = match &context.link {
            None => ScopeBackend::memory(clock.clone()),
            Some(link) => ScopeBackend::redis(link.clone()),
        };
        #[cfg(feature = "sql")]
        let witnesses = match &context.link {
            None => WitnessBackend::memory(clock.clone()),
            Some(link) => WitnessBackend::redis(link.clone()),
        };
        Self {
            backend,
            #[cfg(feature = "sql")]
            witnesses,
            clock,
        }
    }
}

impl Snowflake {
    fn new(keeper: Arc<Keeper>, wait: Duration) -> Self {
        let (own, clock) = (Arc::clone(&keeper), keeper.clock.clone());
        let task = Background::spawn("ids", clock, move || Arc::clone(&own).run());
        Self(Arc::new(Inner { keeper, wait, _loop: task }))
    }

    /// The next id. If more ids were requested than their time has, the reserved time ahead is used up first, then callers wait for as long
    /// as the ids need. Without the store ids go on to the end of the reserved time, then callers wait for the store.
    ///
    /// No thread blocks. Dropping this future loses no id.
    ///
    /// # Errors
    /// [`IdError::NoneInTime`] after [`wait`](SnowflakeBuilder::wait), with the reason if there is one: no id was issued. [`IdError::Released`]
    /// after [`release`](Self::release).
    pub async fn next(&self) -> Result<Id, IdError> {
        match self.try_next() {
            Some(id) => Ok(id),
            None => Box::pin(self.next_reserved()).await,
        }
    }

    /// The next id, if one is reserved.
    #[must_use]
    pub fn try_next(&self) -> Option<Id> {
        self.0.keeper.words.take()
    }

    /// Waits for reserved time.
    async fn next_reserved(&self) -> Result<Id, IdError> {
        let Inner { keeper, wait, .. } = &*self.0;
        keeper.metrics.waits.increment(1);
        let began = keeper.clock.now();
        let mut reservations = keeper.reservations.subscribe();
        loop {
            // Marked as seen before the attempt: a reservation after it wakes this task.
            reservations.borrow_and_update();
            if let Some(id) = self.try_next() {
                return Ok(id);
            }
            if keeper.is_released.load(SeqCst) {
                return Err(IdError::Released { scope: keeper.scope.name().to_owned() });
            }
            keeper.wanted.notify_one();
            let left = wait.saturating_sub(keeper.clock.now().since(began));
            let changed = keeper.clock.timeout(left, reservations.changed()).await;
            if changed.is_err() && guard("id_wait_ends") {
                let cause = keeper.failure.lock().clone().map(Arc::new);
                return Err(IdError::NoneInTime { waited: *wait, cause });
            }
        }
    }

    /// The time, the worker id and the sequence number of an id of this scope.
    #[must_use]
    pub fn parts(&self, id: Id) -> Parts {
        self.0.keeper.words.layout().parts(id.get())
    }

    /// The worker id that was last leased; it changes if its lease was lost.
    #[must_use]
    pub fn worker(&self) -> u16 {
        self.0.keeper.words.worker()
    }

    /// Releases the worker id, so that another process can lease it at once. All clones issue nothing any more.
    ///
    /// # Errors
    /// [`IdError::Link`]: the worker id may still be leased; its lease ends by itself. No id is issued in either case.
    pub async fn release(&self) -> Result<(), IdError> {
        self.0.keeper.release().await
    }

    /// For test suites: extends now, as the background loop does.
    ///
    /// # Errors
    /// [`IdError::Link`], [`IdError::ClocksApart`], [`IdError::Differs`], [`IdError::WorkersTaken`].
    #[cfg(feature = "testing")]
    pub async fn extend_once(&self) -> Result<(), IdError> {
        self.0.keeper.run_once().await
    }
}

impl fmt::Debug for Snowflake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snowflake").field("scope", &self.0.keeper.scope.name()).finish_non_exhaustive()
    }
}
