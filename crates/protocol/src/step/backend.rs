//! [`Backend`]: where a capability's data is.

use super::{Memory, Place, Redis, Step};
use evenkeel_link::Link;
use evenkeel_link::clock::Clock;

/// A store of a capability, which runs its steps. Cheap to clone.
#[derive(Clone)]
pub enum Backend<P: Place> {
    /// On Redis.
    Redis(Redis<P>),
    /// In the memory of this process.
    Memory(Memory<P>),
}

impl<P: Place> Backend<P> {
    /// What is on the Redis of this link.
    #[must_use]
    pub fn redis(link: Link) -> Self {
        Self::Redis(Redis::new(link))
    }

    /// An empty store in the memory of this process. The server's time is the clock's wall clock.
    #[must_use]
    pub fn memory(clock: Clock) -> Self {
        Self::Memory(Memory::new(clock))
    }

    /// Runs one step at one place.
    ///
    /// # Errors
    /// Those of [`Step::check`]: nothing was sent. A `Link` error: Redis returned an error or did not reply.
    pub async fn run<S: Step<P>>(&self, place: &P, step: &S) -> Result<S::Reply, P::Error> {
        step.check()?;
        match self {
            Self::Redis(redis) => step.send(redis, place).await,
            Self::Memory(memory) => memory.run(place, step),
        }
    }

    /// Runs one step without waiting if the store is in this process; `None` if a server must be called.
    #[must_use]
    pub fn run_now<S: Step<P>>(&self, place: &P, step: &S) -> Option<Result<S::Reply, P::Error>> {
        match self {
            Self::Redis(_) => None,
            Self::Memory(memory) => Some(step.check().and_then(|()| memory.run(place, step))),
        }
    }

    /// Runs a step after every change until it returns what is awaited. Only for embedded stores: on Redis it waits forever.
    pub async fn until<S: Step<P>>(&self, place: &P, step: &S, is_awaited: impl Fn(S::Reply) -> bool) {
        match self {
            Self::Redis(_) => std::future::pending().await,
            Self::Memory(memory) => memory.until(place, step, is_awaited).await,
        }
    }

    /// The link, if the data is on Redis.
    #[must_use]
    pub fn link(&self) -> Option<&Link> {
        match self {
            Self::Redis(redis) => Some(redis.link()),
            Self::Memory(_) => None,
        }
    }

    /// Whether both have the same data.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Memory(here), Self::Memory(there)) => here.is_same(there),
            (Self::Redis(here), Self::Redis(there)) => here.link().has_store_of(there.link()),
            _ => false,
        }
    }
}
