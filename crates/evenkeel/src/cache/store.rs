//! The steps of one cache over whatever the keel keeps its state in.

use super::breaker::{Attempt, Breaker};
use super::error::CacheError;
#[cfg(feature = "testing")]
use super::gate::{Side, Step, StepGate};
use super::hub::{ChangeListener, Hub};
use super::memory::MemoryCache;
use super::near::Soon;
use super::protocol::PublishedCache;
use super::redis::RedisCache;
use super::steps::{BeginWrite, Begun, CacheSteps, Ended, Fill, Filled, Invalidation, Lease, Leased, Renewed};
use super::tracker::{OwnStep, OwnSteps, Tracker};
use crate::clock::Clock;
use crate::guard::guard;
use crate::link::{Epoch, Link, LinkError};
use crate::together::together;
use crate::token::Token;
use bytes::Bytes;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;

/// The steps that reads and invalidations use, on either backend.
#[derive(Clone)]
pub(crate) struct Store {
    backend: Backend,
    clock: Clock,
    /// Between the readers and the store. Invalidations and windows do not come by it.
    breaker: Arc<Breaker>,
    own_steps: Option<Arc<dyn OwnSteps>>,
    #[cfg(feature = "testing")]
    gate: Option<StepGate>,
}

#[derive(Clone)]
enum Backend {
    Memory(MemoryCache),
    Redis {
        steps: RedisCache,
        link: Link,
    },
    /// One of the published protocols, in memory (no link) or over Redis.
    Published {
        steps: PublishedCache,
        link: Option<Link>,
    },
}

/// What a tracked read found.
pub(crate) struct Told {
    pub(crate) answer: Result<Option<Bytes>, CacheError>,
    /// The connection that tells the next change of the entry; `None` if it is not told.
    pub(crate) told_on: Option<usize>,
}

/// The life of the store in which a lease was given.
pub(crate) struct StoreEpoch {
    /// `None` for a store in memory, which lives as long as the process.
    link: Option<Arc<Epoch>>,
    #[cfg(feature = "testing")]
    turned: u64,
}

/// One step: through the gate, to the backend, and back through the gate.
macro_rules! step {
    ($self:ident, $step:ident, $steps:ident => $call:expr) => {{
        #[cfg(feature = "testing")]
        $self.pass(Step::$step, Side::BeforeSend).await?;
        let answer = match &$self.backend {
            Backend::Memory($steps) => $call.await,
            Backend::Redis { steps: $steps, .. } => $call.await,
            Backend::Published { steps: $steps, .. } => $call.await,
        };
        #[cfg(feature = "testing")]
        $self.pass(Step::$step, Side::BeforeAnswer).await?;
        answer
    }};
}

#[cfg(feature = "sql")]
impl Store {
    /// Whether an invalidation that this keel sends ends entries of this store.
    pub(crate) fn is_of(&self, keel: &crate::keel::Keel) -> bool {
        use crate::keel::Backend as Keels;
        match (&self.backend, keel.backend()) {
            (Backend::Memory(steps), Keels::Memory(_)) => steps.is_in(&keel.caches().entries),
            (Backend::Redis { link, .. }, Keels::Redis(theirs)) => link.has_store_of(theirs),
            // A work refuses these for another reason.
            (Backend::Published { .. }, _) => true,
            _ => false,
        }
    }
}

impl Store {
    pub(crate) fn memory(steps: MemoryCache, clock: Clock, breaker: Breaker) -> Self {
        Self::over(Backend::Memory(steps), clock, breaker)
    }

    /// On the Redis that `link` reaches.
    pub(crate) fn redis(steps: RedisCache, link: Link, clock: Clock, breaker: Breaker) -> Self {
        Self::over(Backend::Redis { steps, link }, clock, breaker)
    }

    /// Under a published protocol.
    pub(crate) fn published(steps: PublishedCache, link: Option<Link>, clock: Clock, breaker: Breaker) -> Self {
        Self::over(Backend::Published { steps, link }, clock, breaker)
    }

    fn over(backend: Backend, clock: Clock, breaker: Breaker) -> Self {
        Self {
            backend,
            clock,
            breaker: Arc::new(breaker),
            own_steps: None,
            #[cfg(feature = "testing")]
            gate: None,
        }
    }

    #[inline]
    fn link(&self) -> Option<&Link> {
        match &self.backend {
            Backend::Memory(_) => None,
            Backend::Redis { link, .. } => Some(link),
            Backend::Published { link, .. } => link.as_ref(),
        }
    }

    /// The store's own time, as well as it is known here.
    pub(crate) fn now_ms(&self) -> u64 {
        self.link().map_or_else(|| self.clock.unix_ms(), Link::server_now_ms)
    }

    /// What the clocks say very soon. Always in line: at a near hit the call itself counts.
    #[inline(always)]
    pub(crate) fn soon(&self) -> Soon {
        let here = self.clock.soon();
        Soon { here, store_ms: self.link().map_or_else(|| self.clock.soon_unix_ms(), |link| link.server_ms_at(here)) }
    }

    /// Lets `tracker` hear what this process is about to change. Nothing is told under a published protocol.
    pub(crate) fn with_tracker<V: Send + Sync + 'static>(mut self, tracker: &Arc<Tracker<V>>) -> Self {
        if matches!(self.backend, Backend::Published { .. }) {
            return self;
        }
        self.own_steps = Some(Arc::<Tracker<V>>::clone(tracker));
        self
    }

    /// Lets `tracker` hear what changes in the store, in place of a cache of this name that is gone.
    pub(crate) fn tell<V: Send + Sync + 'static>(&self, tracker: &Arc<Tracker<V>>, hub: &Hub) {
        if self.own_steps.is_some() {
            let listener: Arc<dyn ChangeListener> = Arc::<Tracker<V>>::clone(tracker);
            hub.listen(tracker.front(), &listener);
        }
    }

    /// Whether changes of entries that were read for it are told.
    pub(crate) fn tracks(&self) -> bool {
        match &self.backend {
            Backend::Memory(_) => true,
            Backend::Redis { link, .. } => link.epoch().is_some_and(|epoch| epoch.tracks()),
            Backend::Published { .. } => false,
        }
    }

    /// The present life of the store; `None` while it cannot be reached.
    pub(crate) fn epoch(&self) -> Option<StoreEpoch> {
        let link = match self.link() {
            None => None,
            Some(link) => Some(link.epoch()?),
        };
        Some(StoreEpoch {
            link,
            #[cfg(feature = "testing")]
            turned: self.turned(),
        })
    }

    pub(crate) async fn read(&self, key: &[u8]) -> Result<Option<Bytes>, CacheError> {
        self.asked(pin!(async { step!(self, Read, steps => steps.read(key)) })).await
    }

    /// What [`read`](Self::read) says, for each of `keys`. On Redis in one write.
    pub(crate) async fn read_many(&self, keys: &[&[u8]]) -> Vec<Result<Option<Bytes>, CacheError>> {
        let read = pin!(async {
            #[cfg(feature = "testing")]
            self.pass(Step::Read, Side::BeforeSend).await?;
            match &self.backend {
                Backend::Redis { steps, .. } if guard("batch_one_write") => steps.read_many(keys).await,
                Backend::Redis { steps, .. } => {
                    let mut answers = Vec::with_capacity(keys.len());
                    for key in keys {
                        answers.push(steps.read(key).await);
                    }
                    Ok(answers)
                }
                Backend::Memory(steps) => Ok(together(keys.iter().map(|key| steps.read(key))).await),
                Backend::Published { steps, .. } => Ok(together(keys.iter().map(|key| steps.read(key))).await),
            }
        });
        self.asked(read).await.unwrap_or_else(|error| keys.iter().map(|_| Err(error.clone())).collect())
    }

    /// What [`read`](Self::read) says, and the next change of the entry is told.
    pub(crate) async fn read_tracked(&self, key: &[u8]) -> Told {
        let mut answers = self.read_many_tracked(&[key]).await;
        answers.pop().unwrap_or(Told { answer: Ok(None), told_on: None })
    }

    /// The same for each of `keys`. On Redis in one write, all on the connection of the first.
    pub(crate) async fn read_many_tracked(&self, keys: &[&[u8]]) -> Vec<Told> {
        let told = |told_on| move |answer| Told { answer, told_on };
        let read = pin!(async {
            #[cfg(feature = "testing")]
            self.pass(Step::Read, Side::BeforeSend).await?;
            let answers = match &self.backend {
                Backend::Redis { steps, .. } => steps.read_many_tracked(keys).await?,
                Backend::Memory(steps) => {
                    together(keys.iter().map(|key| steps.read(key))).await.into_iter().map(told(Some(0))).collect()
                }
                Backend::Published { steps, .. } => {
                    together(keys.iter().map(|key| steps.read(key))).await.into_iter().map(told(None)).collect()
                }
            };
            #[cfg(feature = "testing")]
            self.pass(Step::Read, Side::BeforeAnswer).await?;
            Ok(answers)
        });
        let told_none = |error: CacheError| keys.iter().map(|_| told(None)(Err(error.clone()))).collect();
        self.asked(read).await.unwrap_or_else(told_none)
    }

    fn own_step<'a>(&'a self, key: &'a [u8]) -> OwnStep<'a> {
        OwnStep::begin(self.own_steps.as_deref(), key)
    }

    pub(crate) async fn lease(&self, key: &[u8], lease: &Lease) -> Result<Leased, CacheError> {
        self.asked(pin!(async { step!(self, Lease, steps => steps.lease(key, lease)) })).await
    }

    /// Stores what was loaded, in this life of the store or not at all.
    pub(crate) async fn fill(&self, epoch: Option<&StoreEpoch>, key: &[u8], fill: &Fill) -> Result<Filled, CacheError> {
        let _own = self.own_step(key);
        let filled = async {
            #[cfg(feature = "testing")]
            self.pass(Step::Fill, Side::BeforeSend).await?;
            let answer = match (&self.backend, epoch.and_then(|epoch| epoch.link.as_ref())) {
                (Backend::Memory(steps), _) => steps.fill(key, fill).await,
                (Backend::Redis { steps, .. }, Some(epoch)) => steps.fill_on(epoch, key, fill).await,
                (Backend::Redis { steps, .. }, None) => steps.fill(key, fill).await,
                (Backend::Published { steps, .. }, _) => steps.fill(key, fill).await,
            };
            #[cfg(feature = "testing")]
            self.pass(Step::Fill, Side::BeforeAnswer).await?;
            answer
        };
        self.asked(pin!(filled)).await
    }

    pub(crate) async fn abandon(&self, key: &[u8], token: Token, retry_after_ms: u64) -> Result<(), CacheError> {
        self.asked(pin!(async { step!(self, Abandon, steps => steps.abandon(key, token, retry_after_ms)) })).await
    }

    pub(crate) async fn invalidate(&self, key: &[u8], invalidation: &Invalidation) -> Result<(), CacheError> {
        let _own = self.own_step(key);
        if !guard("invalidations_pass_breaker") {
            drop(self.enter()?);
        }
        step!(self, Invalidate, steps => steps.invalidate(key, invalidation))
    }

    /// The same on an epoch that is not published yet.
    pub(crate) async fn invalidate_on(
        &self,
        epoch: &Epoch,
        key: &[u8],
        invalidation: &Invalidation,
    ) -> Result<(), CacheError> {
        match &self.backend {
            Backend::Memory(steps) => steps.invalidate(key, invalidation).await,
            Backend::Redis { steps, .. } => steps.invalidate_on(epoch, key, invalidation).await,
            // Nobody but the fenced protocol keeps readers waiting for this. It stays owed, and is driven a moment later.
            Backend::Published { .. } => Err(CacheError::Unsupported(
                "the published protocols do not drive invalidations again before a new connection is used",
            )),
        }
    }

    pub(crate) async fn begin_write(&self, key: &[u8], begin: &BeginWrite) -> Result<Begun, CacheError> {
        let _own = self.own_step(key);
        step!(self, BeginWrite, steps => steps.begin_write(key, begin))
    }

    pub(crate) async fn renew_write(&self, key: &[u8], token: Token, window_ms: u64) -> Result<Renewed, CacheError> {
        step!(self, RenewWrite, steps => steps.renew_write(key, token, window_ms))
    }

    pub(crate) async fn end_write(
        &self,
        key: &[u8],
        token: Token,
        invalidation: &Invalidation,
    ) -> Result<Ended, CacheError> {
        let _own = self.own_step(key);
        step!(self, EndWrite, steps => steps.end_write(key, token, invalidation))
    }

    /// Asks, unless the store is being left alone; what comes of it decides about those who come later.
    async fn asked<T>(&self, step: Pin<&mut impl Future<Output = Result<T, CacheError>>>) -> Result<T, CacheError> {
        let attempt = self.enter()?;
        let answer = step.await;
        attempt.heard(&answer, || self.link_epoch());
        answer
    }

    fn enter(&self) -> Result<Attempt<'_>, CacheError> {
        self.breaker.enter(|| self.link_epoch()).ok_or_else(|| {
            let address = self.link().map_or_else(|| "the embedded store".to_owned(), Link::address);
            LinkError::Down { address, reason: "it did not answer just now, and is left alone for a moment".to_owned() }
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
    fn turned(&self) -> u64 {
        self.gate.as_ref().map_or(0, StepGate::epochs)
    }
}

impl StoreEpoch {
    /// Whether `store` is still in this life.
    pub(crate) fn is_current(&self, store: &Store) -> bool {
        #[cfg(feature = "testing")]
        if self.turned != store.turned() {
            return false;
        }
        match (&self.link, store.link()) {
            (Some(then), Some(link)) => link.epoch().is_some_and(|now| now.number() == then.number()),
            (None, None) => true,
            _ => false,
        }
    }
}
