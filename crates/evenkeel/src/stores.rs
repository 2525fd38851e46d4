//! The caches, queues and streams of one [`Keel`](crate::Keel), which are also where units of work have their effects.

#[cfg(feature = "cache")]
use crate::cache::Caches;
use crate::context::Context;
#[cfg(feature = "queue")]
use crate::queue::Queues;
#[cfg(feature = "stream")]
use crate::stream::Streams;
#[cfg(any(feature = "cache", feature = "queue", feature = "stream"))]
use std::sync::Arc;

/// The caches, queues and streams of one [`Keel`](crate::Keel). Cheap to clone.
#[derive(Clone)]
pub(crate) struct Stores {
    #[cfg(feature = "cache")]
    pub(crate) caches: Arc<Caches>,
    #[cfg(feature = "queue")]
    pub(crate) queues: Arc<Queues>,
    #[cfg(feature = "stream")]
    pub(crate) streams: Arc<Streams>,
}

impl Stores {
    /// In memory, cache entries are evicted above `max_bytes`.
    #[cfg_attr(not(feature = "cache"), expect(unused_variables, reason = "only caches have a limit in memory"))]
    pub(crate) fn new(context: &Context, max_bytes: usize) -> Self {
        Self {
            #[cfg(feature = "cache")]
            caches: Arc::new(Caches::new(context.clone(), max_bytes)),
            #[cfg(feature = "queue")]
            queues: Arc::new(Queues::new(context)),
            #[cfg(feature = "stream")]
            streams: Arc::new(Streams::new(context)),
        }
    }

    /// The same embedded stores without what one process shares, like those of another process on the same Redis.
    #[cfg(all(feature = "testing", feature = "cache"))]
    pub(crate) fn another_process(&self, context: &Context) -> Self {
        Self {
            caches: Arc::new(self.caches.another_process(context.clone())),
            #[cfg(feature = "queue")]
            queues: Arc::new(self.queues.another_process(context)),
            #[cfg(feature = "stream")]
            streams: Arc::new(self.streams.another_process(context)),
        }
    }
}
