//! [`Stream`]: the typed handle on one stream.

use super::admin::StreamAdmin;
use super::base::Base;
use super::consume::Group;
use super::metrics::StreamMetrics;
use super::sending::entry::NewEntry;
use super::sending::producers::Producers;
use super::sending::send::{self, Appended};
use super::settings::Settings;
use evenkeel_protocol::codec::Codec;
use evenkeel_protocol::stream::StreamError;
#[cfg(feature = "testing")]
use evenkeel_protocol::stream::{StreamBackend, name::Partition};
use std::sync::Arc;

/// A handle on one stream; cheap to clone.
///
/// Guarantee: each group handles every entry that was appended at least once, or has it as a dead letter, for as long as Redis loses
/// nothing. Not guaranteed: that an entry survives a Redis that loses acknowledged writes, except for entries of units of work of a stream
/// that is registered in their database (`StreamBuilder::sql`); docs/spec/stream.md has the full list.
pub struct Stream<T> {
    core: Arc<Core<T>>,
}

/// The state that all handles of one stream share.
pub(crate) struct Core<T> {
    pub(crate) base: Arc<Base>,
    pub(crate) codec: Arc<dyn Codec<T>>,
    pub(crate) settings: Settings,
    pub(crate) metrics: StreamMetrics,
    /// For each partition.
    pub(crate) producers: Vec<Producers>,
}

impl<T> Clone for Stream<T> {
    fn clone(&self) -> Self {
        Self { core: Arc::clone(&self.core) }
    }
}

impl<T: Send + Sync + 'static> Stream<T> {
    pub(crate) fn new(core: Core<T>) -> Self {
        Self { core: Arc::new(core) }
    }

    /// The name of the stream.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.core.base.name
    }

    /// Appends an entry. A key has at most 512 bytes, and may be empty. Entries of one key are in one partition; those that are appended one after the other are in the log in this order.
    ///
    /// A call whose reply is lost is repeated a few times, and the entry is in the log once all the same.
    ///
    /// # Errors
    /// [`StreamError::TooLarge`], [`StreamError::Codec`], [`StreamError::Invalid`] (the key): nothing was sent. [`StreamError::Full`]: the entry was not appended.
    /// [`StreamError::Link`] with `outcome_unknown`: it may have been appended, and appending it again may duplicate it. Entries with a
    /// number ([`NewEntry::numbered`]) can be appended again.
    pub async fn append(&self, key: impl AsRef<[u8]>, value: &T) -> Result<Appended, StreamError> {
        self.entry(key, value).append().await
    }

    /// Begins an entry with options; see [`NewEntry`]. The value is encoded at once.
    pub fn entry(&self, key: impl AsRef<[u8]>, value: &T) -> NewEntry<'_, T> {
        NewEntry::new(self, key.as_ref(), value)
    }

    /// Appends many entries, with one round trip per partition for each 500 entries. Returns one result per entry, in order. Entries of one
    /// key are in the log in the order of the call.
    ///
    /// # Errors
    /// As [`append`](Self::append), for the whole call: after an error any of the entries may have been appended. For an entry that was
    /// not appended because the stream is full, or its number is out of order, the result of that entry says so.
    pub async fn append_many<'a>(
        &'a self,
        entries: impl IntoIterator<Item = NewEntry<'a, T>>,
    ) -> Result<Vec<Result<Appended, StreamError>>, StreamError> {
        let entries = entries.into_iter().map(NewEntry::into_entry).collect::<Result<Vec<_>, _>>()?;
        send::send(&self.core, entries).await
    }

    /// Begins a consumer of the group `name`: 1 to 128 letters, digits, `-`, `_` or `.`. Every group handles every entry.
    pub fn group(&self, name: &str) -> Group<T> {
        Group::new(self.clone(), name)
    }

    /// The operator's handle on this stream: lag, pauses, dead letters.
    #[must_use]
    pub fn admin(&self) -> StreamAdmin {
        StreamAdmin::of(&self.core.base)
    }

    /// For test suites: the steps of this stream and its partitions, to act as another program on the same store.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn steps(&self) -> (StreamBackend, Vec<Partition>) {
        (self.core.base.store.steps(), self.core.base.partitions.clone())
    }

    /// For test suites: stores the state of a group as a process that has read this incarnation of the stream before Redis lost it. Returns
    /// whether it was stored.
    ///
    /// # Errors
    /// As the calls of a consumer.
    #[cfg(all(feature = "testing", feature = "sql"))]
    pub async fn save_late(&self, group: &str, incarnation: u64) -> Result<bool, StreamError> {
        super::sql::save_late(&self.core.base, group, incarnation).await
    }

    pub(crate) fn core(&self) -> &Arc<Core<T>> {
        &self.core
    }
}
