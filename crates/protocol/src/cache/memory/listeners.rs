//! Notifications of changes in the embedded store, the counterpart of Redis's `CLIENT TRACKING`.

use arc_swap::ArcSwap;
use std::fmt;
use std::sync::Weak;

/// Receives every change: steps, evictions and the removal of expired entries. Called before the step that made the
/// change returns, without a lock of the store.
pub trait EntryListener: Send + Sync {
    /// The entry under this key (of the store) has changed or was removed.
    fn entry_changed(&self, full_key: &[u8]);

    /// All entries were removed.
    fn all_changed(&self);
}

/// The registered listeners, held weakly.
#[derive(Default)]
pub(crate) struct Listeners(ArcSwap<Vec<Weak<dyn EntryListener>>>);

impl Listeners {
    pub(crate) fn add(&self, listener: &Weak<dyn EntryListener>) {
        self.0.rcu(|known| {
            let living = known.iter().filter(|listener| listener.strong_count() > 0).cloned();
            living.chain([Weak::clone(listener)]).collect::<Vec<_>>()
        });
    }

    pub(crate) fn notify(&self, call: impl Fn(&dyn EntryListener)) {
        self.0.load().iter().filter_map(Weak::upgrade).for_each(|listener| call(&*listener));
    }
}

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listeners").finish_non_exhaustive()
    }
}
