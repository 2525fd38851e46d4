//! The steps of one cache over whatever the keel keeps its state in.

use super::error::CacheError;
#[cfg(feature = "testing")]
use super::gate::{Side, Step, StepGate};
use super::memory::MemoryCache;
use super::protocol::PublishedCache;
use super::redis::RedisCache;
use super::steps::{CacheSteps, Fill, Filled, Invalidation, Lease, Leased};
use super::together::together;
use crate::clock::Clock;
use crate::link::{Epoch, EpochHook, Link};
use crate::token::Token;
use bytes::Bytes;
use std::sync::Arc;

/// The steps that reads and invalidations use, on either backend.
#[derive(Clone)]
pub(crate) struct Store {
    backend: Backend,
    clock: Clock,
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

impl Store {
    pub(crate) fn memory(steps: MemoryCache, clock: Clock) -> Self {
        Self::over(Backend::Memory(steps), clock)
    }

    /// On the Redis that `link` reaches.
    pub(crate) fn redis(steps: RedisCache, link: Link, clock: Clock) -> Self {
        Self::over(Backend::Redis { steps, link }, clock)
    }

    /// Under a published protocol.
    pub(crate) fn published(steps: PublishedCache, link: Option<Link>, clock: Clock) -> Self {
        Self::over(Backend::Published { steps, link }, clock)
    }

    fn over(backend: Backend, clock: Clock) -> Self {
        Self {
            backend,
            clock,
            #[cfg(feature = "testing")]
            gate: None,
        }
    }

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

    /// Lets every new epoch wait until `hook` has run.
    pub(crate) fn before_open<H: EpochHook>(&self, hook: &Arc<H>) {
        if let Some(link) = self.link() {
            link.before_open(hook);
        }
    }

    pub(crate) async fn read(&self, key: &[u8]) -> Result<Option<Bytes>, CacheError> {
        step!(self, Read, steps => steps.read(key))
    }

    /// What [`read`](Self::read) says, for each of `keys`. On Redis in one write.
    pub(crate) async fn read_many(&self, keys: &[&[u8]]) -> Vec<Result<Option<Bytes>, CacheError>> {
        #[cfg(feature = "testing")]
        if let Err(error) = self.pass(Step::Read, Side::BeforeSend).await {
            return keys.iter().map(|_| Err(error.clone())).collect();
        }
        match &self.backend {
            Backend::Redis { steps, .. } => match steps.read_many(keys).await {
                Ok(answers) => answers,
                Err(error) => keys.iter().map(|_| Err(error.clone())).collect(),
            },
            Backend::Memory(steps) => together(keys.iter().map(|key| steps.read(key))).await,
            Backend::Published { steps, .. } => together(keys.iter().map(|key| steps.read(key))).await,
        }
    }

    pub(crate) async fn lease(&self, key: &[u8], lease: &Lease) -> Result<Leased, CacheError> {
        step!(self, Lease, steps => steps.lease(key, lease))
    }

    /// Stores what was loaded, in this life of the store or not at all.
    pub(crate) async fn fill(&self, epoch: Option<&StoreEpoch>, key: &[u8], fill: &Fill) -> Result<Filled, CacheError> {
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
    }

    pub(crate) async fn abandon(&self, key: &[u8], token: Token, retry_after_ms: u64) -> Result<(), CacheError> {
        step!(self, Abandon, steps => steps.abandon(key, token, retry_after_ms))
    }

    pub(crate) async fn invalidate(&self, key: &[u8], invalidation: &Invalidation) -> Result<(), CacheError> {
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
