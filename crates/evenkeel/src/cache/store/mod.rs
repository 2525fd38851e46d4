//! The protocol steps of one cache on the store of its keel.

pub(crate) mod breaker;
#[cfg(feature = "testing")]
pub(crate) mod gate;
pub(crate) mod hub;
pub(crate) mod interests;
pub(crate) mod protocol;
pub(crate) mod registry;

use self::breaker::{Attempt, Breaker};
#[cfg(feature = "testing")]
use self::gate::{Side, Step, StepGate};
use self::hub::{ChangeListener, Hub};
use super::near::Soon;
use crate::cache::near::tracker::{OwnStep, Tracker};
use bytes::Bytes;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{TOGETHER_MAX, guard};
use evenkeel_link::{Epoch, Link, LinkError, Token};
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::memory::EntryStore;
use evenkeel_protocol::cache::steps::{
    BeginWrite, Begun, CacheSteps, Ended, Fill, Filled, Invalidation, Lease, Leased, Renewed, TrackedRead,
};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;

/// The protocol steps that reads and invalidations use, on either backend.
#[derive(Clone)]
pub(crate) struct Store {
    steps: Arc<dyn CacheSteps>,
    kind: Kind,
    clock: Clock,
    /// Between the readers and the store. Invalidations and windows bypass it.
    breaker: Arc<Breaker>,
    /// Notified of this process's own steps, if the protocol has notifications.
    tracker: Option<Arc<dyn ChangeListener>>,
    #[cfg(feature = "testing")]
    gate: Option<StepGate>,
}

/// The location of the entries.
#[derive(Clone)]
pub(crate) enum Kind {
    #[cfg_attr(not(feature = "sql"), expect(dead_code, reason = "a unit of work asks whose entries these are"))]
    Memory(Arc<EntryStore>),
    Redis(Link),
    /// Those of a protocol other than the fenced one, in memory (no link) or on Redis.
    Other(Option<Link>),
}

/// The epoch of the store in which a lease was granted.
pub(crate) struct StoreEpoch {
    /// `None` for a store in memory, which lives as long as the process.
    link: Option<Arc<Epoch>>,
    #[cfg(feature = "testing")]
    gate_epoch: u64,
}

/// One step: passes the gate, calls the backend, and passes the gate again.
macro_rules! step {
    ($self:ident, $step:ident, $call:expr) => {{
        #[cfg(feature = "testing")]
        $self.pass(Step::$step, Side::BeforeSend).await?;
        let answer = $call.await;
        #[cfg(feature = "testing")]
        $self.pass(Step::$step, Side::BeforeAnswer).await?;
        answer
    }};
}

#[cfg(feature = "sql")]
impl Store {
    /// Whether an invalidation of a unit of work over `caches` applies to entries of this store.
    pub(crate) fn is_of(&self, caches: &registry::Caches) -> bool {
        match (&self.kind, &caches.context.link) {
            (Kind::Memory(entries), None) => Arc::ptr_eq(entries, &caches.entries),
            (Kind::Redis(link), Some(theirs)) => link.has_store_of(theirs),
            // A unit of work rejects these for another reason.
            (Kind::Other(_), _) => true,
            _ => false,
        }
    }
}

impl Store {
    pub(crate) fn new(steps: Arc<dyn CacheSteps>, kind: Kind, clock: Clock, breaker: Breaker) -> Self {
        Self {
            steps,
            kind,
            clock,
            breaker: Arc::new(breaker),
            tracker: None,
            #[cfg(feature = "testing")]
            gate: None,
        }
    }

    #[inline]
    fn link(&self) -> Option<&Link> {
        match &self.kind {
            Kind::Memory(_) => None,
            Kind::Redis(link) => Some(link),
            Kind::Other(link) => link.as_ref(),
        }
    }

    /// How many steps of a batch run at once.
    pub(crate) fn together_max(&self) -> usize {
        self.link().map_or(TOGETHER_MAX, Link::together_max)
    }

    /// The store's time, as precisely as this process knows it.
    pub(crate) fn now_ms(&self) -> u64 {
        self.link().map_or_else(|| self.clock.unix_ms(), Link::server_now_ms)
    }

    /// A time that the clocks will reach very soon. Always inlined, because the cost of a call matters at a near hit.
    #[inline(always)]
    pub(crate) fn soon(&self) -> Soon {
        let here = self.clock.soon();
        Soon { here, store_ms: self.link().map_or_else(|| self.clock.soon_unix_ms(), |link| link.server_ms_at(here)) }
    }

    /// Notifies `tracker` of this process's own changes. Only the fenced protocol has notifications.
    pub(crate) fn with_tracker<V: Send + Sync + 'static>(mut self, tracker: &Arc<Tracker<V>>) -> Self {
        if matches!(self.kind, Kind::Other(_)) {
            return self;
        }
        self.tracker = Some(Arc::<Tracker<V>>::clone(tracker));
        self
    }

    /// Notifies the tracker of changes in the store of keys that begin with `front`, in place of a closed cache of this name.
    pub(crate) fn register_tracker(&self, front: &[u8], hub: &Hub) {
        if let Some(tracker) = &self.tracker {
            hub.listen(front, tracker);
        }
    }

    /// Whether the store notifies of changes of entries that were read with tracking.
    pub(crate) fn tracks(&self) -> bool {
        self.steps.tracks()
    }

    /// The current epoch of the store; `None` while it cannot be reached.
    pub(crate) fn epoch(&self) -> Option<StoreEpoch> {
        let link = match self.link() {
            None => None,
            Some(link) => Some(link.epoch()?),
        };
        Some(StoreEpoch {
            link,
            #[cfg(feature = "testing")]
            gate_epoch: self.gate_epoch(),
        })
    }

    pub(crate) async fn read(&self, key: &[u8]) -> Result<Option<Bytes>, CacheError> {
        self.asked(pin!(async { step!(self, Read, self.steps.read(key)) })).await
    }

    /// Like [`read`](Self::read), for each of `keys`. On Redis in one write.
    pub(crate) async fn read_many(&self, keys: &[&[u8]]) -> Vec<Result<Option<Bytes>, CacheError>> {
        let read = pin!(async {
            #[cfg(feature = "testing")]
            self.pass(Step::Read, Side::BeforeSend).await?;
            if guard("batch_one_write") {
                return self.steps.read_many(keys).await;
            }
            let mut answers = Vec::with_capacity(keys.len());
            for key in keys {
                answers.push(self.steps.read(key).await);
            }
            Ok(answers)
        });
        self.asked(read).await.unwrap_or_else(|error| keys.iter().map(|_| Err(error.clone())).collect())
    }

    /// Like [`read`](Self::read), and tracks the next change of the entry.
    pub(crate) async fn read_tracked(&self, key: &[u8]) -> TrackedRead {
        let mut answers = self.read_many_tracked(&[key]).await;
        answers.pop().unwrap_or(TrackedRead { answer: Ok(None), tracked_on: None })
    }

    /// Like `read_tracked`, for each of `keys`. On Redis in one write, all on the connection of the first key.
    pub(crate) async fn read_many_tracked(&self, keys: &[&[u8]]) -> Vec<TrackedRead> {
        let read = pin!(async {
            #[cfg(feature = "testing")]
            self.pass(Step::Read, Side::BeforeSend).await?;
            let answers = self.steps.read_many_tracked(keys).await?;
            #[cfg(feature = "testing")]
            self.pass(Step::Read, Side::BeforeAnswer).await?;
            Ok(answers)
        });
        let untracked = |error: CacheError| TrackedRead { answer: Err(error), tracked_on: None };
        self.asked(read).await.unwrap_or_else(|error| keys.iter().map(|_| untracked(error.clone())).collect())
    }

    /// Drops the near value of a key whose step is sent later.
    #[cfg(feature = "sql")]
    pub(crate) fn drop_near(&self, key: &[u8]) {
        drop(self.own_step(key));
    }

    fn own_step<'a>(&'a self, key: &'a [u8]) -> OwnStep<'a> {
        OwnStep::begin(self.tracker.as_deref(), key)
    }

    pub(crate) async fn lease(&self, key: &[u8], lease: &Lease) -> Result<Leased, CacheError> {
        self.asked(pin!(async { step!(self, Lease, self.steps.lease(key, lease)) })).await
    }

    /// Stores a loaded value in this epoch of the store, or not at all.
    pub(crate) async fn fill(&self, epoch: Option<&StoreEpoch>, key: &[u8], fill: &Fill) -> Result<Filled, CacheError> {
        let _own = self.own_step(key);
        let filled = async {
            #[cfg(feature = "testing")]
            self.pass(Step::Fill, Side::BeforeSend).await?;
            let answer = match epoch.and_then(|epoch| epoch.link.as_ref()) {
                Some(epoch) => self.steps.fill_on(epoch, key, fill).await,
                None => self.steps.fill(key, fill).await,
            };
            #[cfg(feature = "testing")]
            self.pass(Step::Fill, Side::BeforeAnswer).await?;
            answer
        };
        self.asked(pin!(filled)).await
    }

    pub(crate) async fn abandon(&self, key: &[u8], token: Token, retry_after_ms: u64) -> Result<(), CacheError> {
        self.asked(pin!(async { step!(self, Abandon, self.steps.abandon(key, token, retry_after_ms)) })).await
    }

    pub(crate) async fn invalidate(&self, key: &[u8], invalidation: &Invalidation) -> Result<(), CacheError> {
        let _own = self.own_step(key);
        if !guard("invalidations_pass_breaker") {
            drop(self.enter()?);
        }
        step!(self, Invalidate, self.steps.invalidate(key, invalidation))
    }

    /// Like `invalidate`, on an epoch that is not published yet.
    pub(crate) async fn invalidate_on(
        &self,
        epoch: &Epoch,
        key: &[u8],
        invalidation: &Invalidation,
    ) -> Result<(), CacheError> {
        self.steps.invalidate_on(epoch, key, invalidation).await
    }

    pub(crate) async fn begin_write(&self, key: &[u8], begin: &BeginWrite) -> Result<Begun, CacheError> {
        let _own = self.own_step(key);
        step!(self, BeginWrite, self.steps.begin_write(key, begin))
    }

    pub(crate) async fn renew_write(&self, key: &[u8], token: Token, window_ms: u64) -> Result<Renewed, CacheError> {
        step!(self, RenewWrite, self.steps.renew_write(key, token, window_ms))
    }

    pub(crate) async fn end_write(
        &self,
        key: &[u8],
        token: Token,
        invalidation: &Invalidation,
    ) -> Result<Ended, CacheError> {
        let _own = self.own_step(key);
        step!(self, EndWrite, self.steps.end_write(key, token, invalidation))
    }

    /// Sends a request unless the breaker is open, and records its result in the breaker.
    async fn asked<T>(&self, step: Pin<&mut impl Future<Output = Result<T, CacheError>>>) -> Result<T, CacheError> {
        let attempt = self.enter()?;
        let answer = step.await;
        attempt.record(&answer, || self.link_epoch());
        answer
    }

    fn enter(&self) -> Result<Attempt<'_>, CacheError> {
        self.breaker.enter(|| self.link_epoch()).ok_or_else(|| {
            let address = self.link().map_or_else(|| "the embedded store".to_owned(), Link::address);
            LinkError::Down { address, reason: "it did not reply recently, and the circuit breaker is open".to_owned() }
                .into()
        })
    }

    fn link_epoch(&self) -> Option<u64> {
        Some(self.link()?.epoch()?.number())
    }

    #[cfg(feature = "testing")]
    pub(crate) fn with_gate(mut self, gate: Option<StepGate>) -> Self {
        self.gate = gate;
        self
    }

    #[cfg(feature = "testing")]
    async fn pass(&self, step: Step, side: Side) -> Result<(), CacheError> {
        match &self.gate {
            Some(gate) => gate.pass(step, side).await,
            None => Ok(()),
        }
    }

    #[cfg(feature = "testing")]
    fn gate_epoch(&self) -> u64 {
        self.gate.as_ref().map_or(0, StepGate::epochs)
    }
}

impl StoreEpoch {
    /// Whether `store` is still in this epoch.
    pub(crate) fn is_current(&self, store: &Store) -> bool {
        #[cfg(feature = "testing")]
        if self.gate_epoch != store.gate_epoch() {
            return false;
        }
        match (&self.link, store.link()) {
            (Some(then), Some(link)) => link.epoch().is_some_and(|now| now.number() == then.number()),
            (None, None) => true,
            _ => false,
        }
    }
}
