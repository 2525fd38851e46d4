//! State shared by the caches of one keel: the embedded store, and the open caches by name.

use super::hub::Hub;
use crate::cache::open::OpenCache;
use crate::cache::writing::replay::Replayer;
use crate::context::Context;
use evenkeel_link::support::SweepAt;
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::memory::store::EntryStore;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// The caches of one keel.
pub(crate) struct Caches {
    pub(crate) context: Context,
    /// The entries of all of them, if the keel keeps its data in memory.
    pub(crate) entries: Arc<EntryStore>,
    /// The listener and the replay loop that all of them share.
    pub(crate) hub: Arc<Hub>,
    open: Mutex<Opened>,
}

#[derive(Default)]
struct Opened {
    caches: HashMap<String, Open>,
    sweep_at: SweepAt,
}

#[derive(Default)]
struct Open {
    handles: Weak<()>,
    cache: Option<Weak<dyn OpenCache>>,
    /// They outlive the handles: the pending invalidations of a dropped cache are still replayed, and the link keeps no hook
    /// alive.
    replayers: Vec<Arc<Replayer>>,
}

/// Held by all handles of one cache.
pub(crate) type Handles = Arc<()>;

impl Caches {
    pub(crate) fn new(context: Context, max_bytes: usize) -> Self {
        Self::over(context, Arc::new(EntryStore::new(max_bytes)))
    }

    /// Caches over the same embedded store, like those of another process on the same Redis.
    #[cfg(feature = "testing")]
    pub(crate) fn another_process(&self, context: Context) -> Self {
        Self::over(context, Arc::clone(&self.entries))
    }

    fn over(context: Context, entries: Arc<EntryStore>) -> Self {
        Self { context, entries, hub: Arc::default(), open: Mutex::default() }
    }

    /// Registers a cache. Two caches of one name would not know each other's loads: a reader of one could join a load that an
    /// invalidation through the other should have closed.
    pub(crate) fn enter(&self, name: &str, replayer: &Arc<Replayer>) -> Result<Handles, CacheError> {
        let mut open = self.open.lock();
        open.sweep();
        let cache = open.caches.entry(name.to_owned()).or_default();
        if cache.handles.strong_count() > 0 {
            return Err(CacheError::Settings {
                cache: name.to_owned(),
                reason: "it is already open in this keel; clone the handle instead of opening another".to_owned(),
            });
        }
        let handles = Handles::default();
        cache.handles = Arc::downgrade(&handles);
        cache.replayers.retain(|earlier| !earlier.is_idle());
        cache.replayers.push(Arc::clone(replayer));
        Ok(handles)
    }

    /// Makes a registered cache available under its name.
    pub(crate) fn register_open(&self, name: &str, cache: Weak<dyn OpenCache>) {
        let mut open = self.open.lock();
        open.caches.entry(name.to_owned()).or_default().cache = Some(cache);
    }

    /// A cache that is open in this process.
    pub(crate) fn open(&self, name: &str) -> Option<Arc<dyn OpenCache>> {
        let open = self.open.lock();
        open.caches.get(name)?.cache.as_ref()?.upgrade()
    }
}

impl Opened {
    fn sweep(&mut self) {
        if !self.sweep_at.is_due(self.caches.len()) {
            return;
        }
        self.caches.retain(|_, cache| {
            cache.replayers.retain(|replayer| !replayer.is_idle() || cache.handles.strong_count() > 0);
            cache.handles.strong_count() > 0 || !cache.replayers.is_empty()
        });
        self.sweep_at.swept(self.caches.len());
    }
}
