//! What the caches of one keel share: the embedded store, and the knowledge of which are open.

use super::hub::Hub;
#[cfg(feature = "sql")]
use crate::cache::for_work::OpenCache;
use crate::cache::protocol::PlainEntries;
use crate::cache::writing::replay::Replayer;
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::memory::store::EntryStore;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The caches of one keel.
pub(crate) struct Caches {
    /// Room for the entries of all of them, if the keel keeps its state in memory.
    pub(crate) entries: Arc<EntryStore>,
    /// The same for caches under a published protocol.
    pub(crate) plain: PlainEntries,
    /// What all of them share with the store.
    pub(crate) hub: Arc<Hub>,
    open: Mutex<Opened>,
}

#[derive(Default)]
struct Opened {
    caches: HashMap<String, Open>,
    sweep_at: usize,
}

/// Names whose caches are closed are forgotten when there are so many, and then at twice what was left.
const SWEEP_MIN: usize = 64;

#[derive(Default)]
struct Open {
    handles: Weak<()>,
    #[cfg(feature = "sql")]
    cache: Option<Weak<dyn OpenCache>>,
    /// They outlive the handles: what a dropped cache owed is still owed, and the link keeps no hook alive.
    replayers: Vec<Arc<Replayer>>,
}

/// Held by all handles of one cache.
pub(crate) type Handles = Arc<()>;

impl Caches {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self::over(Arc::new(EntryStore::new(max_bytes)), PlainEntries::default())
    }

    /// Caches over a store that others use too, as several processes use one Redis.
    pub(crate) fn over(entries: Arc<EntryStore>, plain: PlainEntries) -> Self {
        Self { entries, plain, hub: Arc::default(), open: Mutex::default() }
    }

    /// Enters a cache. Two of one name would not know of each other's loads: a reader of one could join a load that an
    /// invalidation through the other should have cut off.
    pub(crate) fn enter(&self, name: &str, replayer: &Arc<Replayer>) -> Result<Handles, CacheError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.sweep();
        let cache = open.caches.entry(name.to_owned()).or_default();
        if cache.handles.strong_count() > 0 {
            return Err(CacheError::Settings {
                cache: name.to_owned(),
                reason: "it is open already in this keel; clone the handle instead of building another".to_owned(),
            });
        }
        let handles = Handles::default();
        cache.handles = Arc::downgrade(&handles);
        cache.replayers.retain(|earlier| !earlier.is_idle());
        cache.replayers.push(Arc::clone(replayer));
        Ok(handles)
    }

    /// Makes an entered cache known to those who have only its name.
    #[cfg(feature = "sql")]
    pub(crate) fn make_known(&self, name: &str, cache: Weak<dyn OpenCache>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.caches.entry(name.to_owned()).or_default().cache = Some(cache);
    }

    /// A cache that is open in this process.
    #[cfg(feature = "sql")]
    pub(crate) fn open(&self, name: &str) -> Option<Arc<dyn OpenCache>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.caches.get(name)?.cache.as_ref()?.upgrade()
    }
}

impl Opened {
    fn sweep(&mut self) {
        if self.caches.len() < self.sweep_at.max(SWEEP_MIN) {
            return;
        }
        self.caches.retain(|_, cache| {
            cache.replayers.retain(|replayer| !replayer.is_idle() || cache.handles.strong_count() > 0);
            cache.handles.strong_count() > 0 || !cache.replayers.is_empty()
        });
        self.sweep_at = self.caches.len() * 2;
    }
}
