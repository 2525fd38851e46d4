//! State shared by the caches of one keel, so that an additional cache costs no task and no entry in a list that every message
//! traverses: one listener for change notifications, one hook on new epochs, and the loop of [`Driver`].

use crate::cache::writing::driver::Driver;
use crate::cache::writing::replay::Replayer;
use evenkeel_link::support::{SweepAt, guard};
use evenkeel_link::{Epoch, EpochHook, Link, LinkError, Push, PushListener};
use evenkeel_protocol::cache::memory::listeners::EntryListener;
use evenkeel_protocol::cache::memory::store::EntryStore;
use parking_lot::{Mutex, RwLock};
use redis::{PushKind, Value};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};

/// Receives the change notifications of one cache.
pub(crate) trait ChangeListener: Send + Sync {
    /// The entry under this key of the store was changed or removed.
    fn entry_changed(&self, full_key: &[u8]);

    /// Every entry may have changed.
    fn all_changed(&self);

    /// New connections are about to be used. There were no notifications since the last ones ended.
    fn connected(&self);

    /// The connections have ended: no notifications arrive before [`connected`](Self::connected).
    fn disconnected(&self);

    /// Called before and after a step of this process that changes the entry of `key`.
    fn changed_here(&self, key: &[u8]);
}

/// The caches of one keel, registered with the link or the embedded store. The caches own it; it refers to them weakly.
#[derive(Default)]
pub(crate) struct Hub {
    /// By the prefix of the cache's keys.
    listeners: RwLock<Swept<Listeners>>,
    replayers: Mutex<Swept<Vec<Weak<Replayer>>>>,
    pub(crate) driver: Driver,
    registered: OnceLock<()>,
}

type Listeners = HashMap<Box<[u8]>, Weak<dyn ChangeListener>>;

#[derive(Default)]
struct Swept<T> {
    all: T,
    sweep_at: SweepAt,
}

impl Hub {
    /// Notifies `listener` of changes of entries whose keys begin with `front`, up to their first brace.
    pub(crate) fn listen(&self, front: &[u8], listener: &Arc<dyn ChangeListener>) {
        let mut listeners = self.listeners.write();
        listeners.all.insert(front.into(), Arc::downgrade(listener));
        let Swept { all, sweep_at } = &mut *listeners;
        if sweep_at.is_due(all.len()) && guard("cache_hub_sweeps") {
            all.retain(|_, listener| listener.strong_count() > 0);
            sweep_at.swept(all.len());
        }
    }

    /// Runs `replayer` before every new epoch is published.
    pub(crate) fn before_open(&self, replayer: &Arc<Replayer>) {
        let mut replayers = self.replayers.lock();
        replayers.all.push(Arc::downgrade(replayer));
        let Swept { all, sweep_at } = &mut *replayers;
        if sweep_at.is_due(all.len()) {
            all.retain(|replayer| replayer.strong_count() > 0);
            sweep_at.swept(all.len());
        }
    }

    /// Registers with the store, once. The store holds a weak reference.
    pub(crate) fn register(self: &Arc<Self>, link: Option<&Link>, entries: &EntryStore) {
        self.registered.get_or_init(|| match link {
            Some(link) => {
                link.listen(self);
                link.before_open(self);
            }
            None => entries.listen(self),
        });
    }

    fn notify(&self, full_key: &[u8]) {
        let Some(brace) = full_key.iter().position(|byte| *byte == b'{') else { return };
        let listeners = self.listeners.read();
        let listener = full_key.get(..=brace).and_then(|front| listeners.all.get(front)).and_then(Weak::upgrade);
        drop(listeners);
        if let Some(listener) = listener {
            listener.entry_changed(full_key);
        }
    }

    fn notify_all(&self, notify: impl Fn(&dyn ChangeListener)) {
        let listeners = self.listeners.read();
        let living: Vec<_> = listeners.all.values().filter_map(Weak::upgrade).collect();
        drop(listeners);
        living.iter().for_each(|listener| notify(&**listener));
    }
}

impl PushListener for Hub {
    fn received(&self, push: &Push<'_>) {
        if *push.kind != PushKind::Invalidate {
            return;
        }
        for item in push.data {
            match item {
                Value::Array(keys) => keys.iter().for_each(|key| match key {
                    Value::BulkString(key) => self.notify(key),
                    Value::SimpleString(key) => self.notify(key.as_bytes()),
                    _ => self.notify_all(|listener| listener.all_changed()),
                }),
                // All keys were removed (FLUSHALL, FLUSHDB). Two other clients treat this message as "no key" and keep serving
                // old values.
                _ if guard("near_empty_push") => self.notify_all(|listener| listener.all_changed()),
                _ => {}
            }
        }
    }

    fn opened(&self, _epoch: u64) {
        self.notify_all(|listener| listener.connected());
    }

    fn ended(&self) {
        self.notify_all(|listener| listener.disconnected());
    }
}

impl EntryListener for Hub {
    fn entry_changed(&self, full_key: &[u8]) {
        self.notify(full_key);
    }

    fn all_changed(&self) {
        self.notify_all(|listener| listener.all_changed());
    }
}

impl EpochHook for Hub {
    fn open<'a>(&'a self, epoch: &'a Epoch) -> Pin<Box<dyn Future<Output = Result<(), LinkError>> + Send + 'a>> {
        let replayers = self.replayers.lock();
        let living: Vec<_> = replayers.all.iter().filter_map(Weak::upgrade).collect();
        drop(replayers);
        Box::pin(async move {
            for replayer in living {
                replayer.replay_before_open(epoch).await?;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl ChangeListener for Counter {
        fn entry_changed(&self, _: &[u8]) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        fn all_changed(&self) {
            self.0.fetch_add(100, Ordering::Relaxed);
        }
        fn connected(&self) {}
        fn disconnected(&self) {}
        fn changed_here(&self, _: &[u8]) {}
    }

    // shows: hazard A36
    #[test]
    fn change_notifies_only_the_cache_of_its_key() {
        let hub = Hub::default();
        let caches: Vec<_> = (0..2).map(|_| Arc::new(Counter::default())).collect();
        for (front, cache) in ["p:c:user:{", "p:c:users:{"].into_iter().zip(&caches) {
            let listener: Arc<dyn ChangeListener> = Arc::<Counter>::clone(cache);
            hub.listen(front.as_bytes(), &listener);
        }
        for key in ["p:c:user:{1}", "p:c:users:{a{b}", "p:c:users:{}", "p:c:other:{1}", "p:c:user", ""] {
            hub.notify(key.as_bytes());
        }
        let received = || caches.iter().map(|cache| cache.0.load(Ordering::Relaxed)).collect::<Vec<_>>();
        assert_eq!(received(), [1, 2]);
        hub.notify_all(|listener| listener.all_changed());
        assert_eq!(received(), [101, 102]);
    }

    // shows: hazard A36
    #[test]
    fn closed_caches_are_removed() {
        let hub = Hub::default();
        for name in 0..10_000 {
            let listener: Arc<dyn ChangeListener> = Arc::new(Counter::default());
            hub.listen(format!("p:c:{name}:{{").as_bytes(), &listener);
        }
        let known = hub.listeners.read().all.len();
        assert!(known <= SweepAt::SWEEP_MIN, "{known}");
    }
}
