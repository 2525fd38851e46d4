//! Passes the store's change notifications for one cache to the near cache and to waiting readers.
//!
//! Redis sends push messages, which arrive in the task that reads the socket; the embedded store calls this in the step itself,
//! before the step returns. In both cases there is no queue in between.

use super::{Flush, Near};
use crate::cache::store::hub::ChangeListener;
use crate::cache::store::interests::ChangeWaiters;
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::keys::CacheKeys;

/// Receives the change notifications of one cache. The cache owns it; the store refers to it weakly.
pub(crate) struct Tracker<V> {
    keys: CacheKeys,
    pub(crate) near: Option<Near<V>>,
    pub(crate) change_waiters: ChangeWaiters,
}

/// Drops the near entry of a key when a step begins and when it ends, whether by its reply, by an error, or because its caller
/// was dropped. Redis notifies the writer's own connection only after the reply (redis#9422), and other connections at any
/// time.
pub(crate) struct OwnStep<'a> {
    tracker: Option<&'a dyn ChangeListener>,
    key: &'a [u8],
}

impl<V> Tracker<V> {
    pub(crate) fn new(keys: CacheKeys, near: Option<Near<V>>) -> Self {
        Self { keys, near, change_waiters: ChangeWaiters::default() }
    }

    /// The prefix of the keys of its entries.
    pub(crate) fn front(&self) -> &[u8] {
        self.keys.front()
    }

    fn changed(&self, full_key: &[u8]) {
        let Some(key) = self.keys.user_key(full_key) else { return };
        if let Some(near) = &self.near {
            near.evict(&key);
        }
        if guard("push_wakes") {
            self.change_waiters.wake(&key);
        }
    }
}

impl<V: Send + Sync + 'static> Tracker<V> {
    fn drop_everything(&self, reason: Flush) {
        if let Some(near) = &self.near {
            near.flush(reason);
        }
        self.change_waiters.wake_all();
    }
}

impl<V: Send + Sync + 'static> ChangeListener for Tracker<V> {
    fn entry_changed(&self, full_key: &[u8]) {
        self.changed(full_key);
    }

    fn all_changed(&self) {
        self.drop_everything(Flush::Everything);
    }

    fn connected(&self) {
        if let Some(near) = &self.near
            && guard("near_flush_on_epoch")
        {
            near.flush(Flush::Epoch);
        }
        self.change_waiters.wake_all();
    }

    /// Near entries are served until the silence is too long, so that a restart of Redis does not become an outage of the
    /// database.
    fn disconnected(&self) {
        self.change_waiters.wake_all();
    }

    fn changed_here(&self, key: &[u8]) {
        if let Some(near) = &self.near {
            near.evict(key);
        }
    }
}

impl<'a> OwnStep<'a> {
    pub(crate) fn begin(tracker: Option<&'a dyn ChangeListener>, key: &'a [u8]) -> Self {
        if let Some(tracker) = tracker {
            tracker.changed_here(key);
        }
        Self { tracker, key }
    }
}

impl Drop for OwnStep<'_> {
    fn drop(&mut self) {
        if let Some(tracker) = self.tracker
            && guard("near_own_step")
        {
            tracker.changed_here(self.key);
        }
    }
}
