//! [`Entry`]: an entry as its handler receives it.

use crate::handling::cancellation::Cancellation;
#[cfg(feature = "lock")]
use crate::lock::ExclusiveGuard;
use bytes::Bytes;
use evenkeel_protocol::stream::entry::Record;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::steps::Delivered;
use std::collections::BTreeMap;
#[cfg(feature = "lock")]
use std::sync::Arc;

/// A lock that an entry and its attempt share.
#[cfg(feature = "lock")]
pub(crate) type HeldLock = Arc<Box<dyn ExclusiveGuard>>;

/// An entry as its handler receives it.
///
/// The handler's future is dropped when the delivery is no longer current, because another consumer may then handle the entry.
#[derive(Debug)]
pub struct Entry<T> {
    /// The decoded value.
    pub value: T,
    /// Its key.
    pub key: Bytes,
    /// The number of its partition.
    pub partition: u16,
    /// Its id. Together with the partition it names the entry; an entry that Redis lost and that is appended again has another one.
    pub id: EntryId,
    /// The number of this attempt, from 1. Snoozes do not count.
    pub attempt: u32,
    /// The fencing token of the partition; 0 in an unordered group. It rises with every owner of the partition: write it with each change in
    /// SQL, and reject lower ones, so that a process that lost its partition cannot overwrite the changes of its successor.
    pub fence: u64,
    /// The entry from which a dead letter came that an operator has sent back.
    pub origin: Option<EntryId>,
    trace: Bytes,
    headers: Bytes,
    cancellation: Cancellation,
    #[cfg(feature = "lock")]
    lock: Option<HeldLock>,
}

impl<T> Entry<T> {
    pub(crate) fn new(
        value: T,
        partition: u16,
        fence: u64,
        delivered: &Delivered,
        record: Record,
        cancellation: Cancellation,
    ) -> Self {
        Self {
            value,
            key: delivered.key.clone(),
            partition,
            id: delivered.id,
            attempt: failures_of(delivered) + 1,
            fence,
            origin: delivered.origin,
            trace: record.trace,
            headers: record.headers,
            cancellation,
            #[cfg(feature = "lock")]
            lock: None,
        }
    }

    #[cfg(feature = "lock")]
    pub(crate) fn with_lock(mut self, lock: Option<HeldLock>) -> Self {
        self.lock = lock;
        self
    }

    /// When the entry was appended, in ms since 1970 on the server's clock.
    #[must_use]
    pub fn appended_at(&self) -> u64 {
        self.id.ms
    }

    /// The trace context of the sender (W3C `traceparent`), if it has set one.
    #[must_use]
    pub fn trace(&self) -> Option<&str> {
        std::str::from_utf8(&self.trace).ok().filter(|trace| !trace.is_empty())
    }

    /// The text headers of the entry.
    #[must_use]
    pub fn headers(&self) -> BTreeMap<String, String> {
        serde_json::from_slice(&self.headers).unwrap_or_default()
    }

    /// The lock under which the entry is handled; `None` unless the group has [locks](super::Group::per_key_exclusive). Its fence is above that
    /// of every earlier holder: let the database check it (`lock.as_fenced()` returns a guard with a method `begin`), so that a process that
    /// was stopped cannot overwrite the changes of the next holder.
    #[cfg(feature = "lock")]
    #[must_use]
    pub fn lock(&self) -> Option<&dyn ExclusiveGuard> {
        self.lock.as_deref().map(|lock| &**lock)
    }

    /// A signal that fires when the delivery is no longer current, for threads and processes that the handler has started.
    #[must_use]
    pub fn cancellation(&self) -> Cancellation {
        self.cancellation.clone()
    }
}

/// The errors before this delivery.
pub(crate) fn failures_of(delivered: &Delivered) -> u32 {
    delivered.tries.as_ref().map_or(0, |tries| u32::from(tries.errors))
}
