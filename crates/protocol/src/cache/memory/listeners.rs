//! Who hears of every change in the embedded store, as Redis tells those who track a key.

use arc_swap::ArcSwap;
use std::fmt;
use std::sync::Weak;

/// Hears of every change: steps, evictions, entries that have ended and are cleared away. Called before the step that made the
/// change answers, with no lock of the store held.
pub trait EntryListener: Send + Sync {
    /// The entry under this key (of the store) is another one now, or gone.
    fn entry_changed(&self, full_key: &[u8]);

    /// Every entry is gone.
    fn all_changed(&self);
}

/// The owners keep their listeners alive; the store only knows them.
#[derive(Default)]
pub(crate) struct Listeners(ArcSwap<Vec<Weak<dyn EntryListener>>>);

impl Listeners {
    pub(crate) fn add(&self, listener: &Weak<dyn EntryListener>) {
        self.0.rcu(|known| {
            let living = known.iter().filter(|listener| listener.strong_count() > 0).cloned();
            living.chain([Weak::clone(listener)]).collect::<Vec<_>>()
        });
    }

    pub(crate) fn tell(&self, what: impl Fn(&dyn EntryListener)) {
        self.0.load().iter().filter_map(Weak::upgrade).for_each(|listener| what(&*listener));
    }
}

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listeners").finish_non_exhaustive()
    }
}
