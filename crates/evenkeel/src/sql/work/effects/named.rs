//! Effects on caches and queues that are given by name: a relay records them for programs in other languages.

use super::Effects;
#[cfg(feature = "cache")]
use crate::cache::Demand;
#[cfg(feature = "queue")]
use crate::queue::JobPut;
#[cfg(feature = "cache")]
use crate::sql::outbox::effect::Invalidate;
#[cfg(feature = "cache")]
use bytes::Bytes;

impl Effects {
    /// Invalidates an entry of the cache with this name. It opens no update window.
    #[cfg(feature = "cache")]
    pub(crate) fn invalidate_named(&mut self, cache: String, key: Bytes, demand: Demand) {
        self.invalidations.push(Invalidate { cache, key, demand, window: false });
    }

    /// Puts or withdraws a job.
    #[cfg(feature = "queue")]
    pub(crate) fn put_named(&mut self, put: JobPut) {
        self.put(put);
    }
}
