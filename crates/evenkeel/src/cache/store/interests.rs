//! Who waits for news of a key: readers that wait for somebody else's load, in another process perhaps.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

/// Those who wait for news of the keys of one cache.
#[derive(Default)]
pub(crate) struct Interests {
    table: Mutex<Table>,
    /// Read first, so that news that nobody waits for costs no lock.
    waiting: AtomicUsize,
}

type Table = HashMap<Box<[u8]>, Vec<Arc<Notify>>>;

/// One who waits, for news of any of some keys. News that came between its making and its waiting is not lost.
pub(crate) struct Interest<'a> {
    interests: &'a Interests,
    keys: Vec<Box<[u8]>>,
    news: Arc<Notify>,
}

impl Interests {
    /// From now on, news of `keys` is kept for the caller.
    pub(crate) fn register<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) -> Interest<'_> {
        let (keys, news): (Vec<Box<[u8]>>, Arc<Notify>) = (keys.map(Box::from).collect(), Arc::default());
        let mut table = self.table();
        for key in &keys {
            table.entry(key.clone()).or_default().push(Arc::clone(&news));
        }
        self.waiting.store(table.len(), Ordering::SeqCst);
        drop(table);
        Interest { interests: self, keys, news }
    }

    /// Wakes those who wait for `key`.
    pub(crate) fn wake(&self, key: &[u8]) {
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        self.table().get(key).into_iter().flatten().for_each(|news| news.notify_one());
    }

    /// Wakes everybody: nobody knows what has changed.
    pub(crate) fn wake_all(&self) {
        self.table().values().flatten().for_each(|news| news.notify_one());
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock()
    }
}

impl Interest<'_> {
    /// Waits for news since this was made, or since the last time it was waited for.
    pub(crate) async fn news(&self) {
        self.news.notified().await;
    }
}

impl Drop for Interest<'_> {
    fn drop(&mut self) {
        let mut table = self.interests.table();
        for key in &self.keys {
            if let Some(waiting) = table.get_mut(key) {
                waiting.retain(|news| !Arc::ptr_eq(news, &self.news));
                if waiting.is_empty() {
                    table.remove(key);
                }
            }
        }
        self.interests.waiting.store(table.len(), Ordering::SeqCst);
    }
}
