//! Readers that wait for a change of a key, usually for another reader's load, possibly in another process.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

/// The readers that wait for changes of the keys of one cache.
#[derive(Default)]
pub(crate) struct ChangeWaiters {
    table: Mutex<Table>,
    /// Read first, so that a change of a key without waiters takes no lock.
    waiting: AtomicUsize,
}

type Table = HashMap<Box<[u8]>, Vec<Arc<Notify>>>;

/// A waiter for changes of any of its keys. A change between its registration and its wait is not lost.
pub(crate) struct ChangeWaiter<'a> {
    change_waiters: &'a ChangeWaiters,
    keys: Vec<Box<[u8]>>,
    changed: Arc<Notify>,
}

impl ChangeWaiters {
    /// Registers the caller: changes of `keys` from now on wake it.
    pub(crate) fn register<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) -> ChangeWaiter<'_> {
        let (keys, changed): (Vec<Box<[u8]>>, Arc<Notify>) = (keys.map(Box::from).collect(), Arc::default());
        let mut table = self.table.lock();
        for key in &keys {
            table.entry(key.clone()).or_default().push(Arc::clone(&changed));
        }
        self.waiting.store(table.len(), Ordering::SeqCst);
        drop(table);
        ChangeWaiter { change_waiters: self, keys, changed }
    }

    /// Wakes the waiters of `key`.
    pub(crate) fn wake(&self, key: &[u8]) {
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        self.table.lock().get(key).into_iter().flatten().for_each(|changed| changed.notify_one());
    }

    /// Wakes all waiters, because it is unknown which keys changed.
    pub(crate) fn wake_all(&self) {
        self.table.lock().values().flatten().for_each(|changed| changed.notify_one());
    }
}

impl ChangeWaiter<'_> {
    /// Waits for a change since the registration, or since the last wait.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}

impl Drop for ChangeWaiter<'_> {
    fn drop(&mut self) {
        let mut table = self.change_waiters.table.lock();
        for key in &self.keys {
            if let Some(waiting) = table.get_mut(key) {
                waiting.retain(|changed| !Arc::ptr_eq(changed, &self.changed));
                if waiting.is_empty() {
                    table.remove(key);
                }
            }
        }
        self.change_waiters.waiting.store(table.len(), Ordering::SeqCst);
    }
}
