//! [`Keel`]: the one handle a program opens.

use crate::clock::Clock;
use crate::link::{Link, LinkError, LinkOptions};
use std::sync::Arc;

/// Where the capabilities keep their state.
#[derive(Clone)]
pub(crate) enum Backend {
    /// In this process; gone with it.
    Memory(MemoryOptions),
    /// On one Redis (or Valkey).
    Redis(Link),
}

/// Limits of the embedded store.
#[derive(Clone, Debug)]
pub(crate) struct MemoryOptions {
    /// Cache entries are evicted above this many bytes; nothing else ever is.
    pub(crate) max_bytes: usize,
}

/// The one handle a program opens; cheap to clone. It hands out caches (and, later, queues, locks and streams).
#[derive(Clone)]
pub struct Keel(Arc<Inner>);

struct Inner {
    backend: Backend,
    clock: Clock,
}

impl Keel {
    pub(crate) fn backend(&self) -> &Backend {
        &self.0.backend
    }
    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }
}

/// Names what is not the default before a [`Keel`] is opened.
pub struct KeelBuilder {}

#[allow(dead_code)]
async fn connect(options: LinkOptions) -> Result<Keel, LinkError> {
    let clock = Clock::system();
    let link = Link::connect(options, clock.clone()).await?;
    Ok(Keel(Arc::new(Inner { backend: Backend::Redis(link), clock })))
}
