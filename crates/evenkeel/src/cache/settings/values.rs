//! The settings of [`CacheBuilder`] for the stored form of values.

use super::builder::CacheBuilder;
use std::sync::Arc;

/// # Stored values
///
/// How values are stored. Sizes are in bytes. [`codec`](Self::codec) is the encoding.
impl<K: ?Sized, V, C> CacheBuilder<K, V, C> {
    /// Values of at least this many bytes are compressed (LZ4), if that makes them smaller. Default 4 KiB.
    pub fn compress_from(mut self, bytes: usize) -> Self {
        self.draft.compress_bytes_min = Some(bytes);
        self
    }

    /// Values above this many bytes (before compression) are returned and not stored. Default 16 MiB.
    pub fn value_bytes_max(mut self, bytes: usize) -> Self {
        self.draft.value_bytes_max = Some(bytes);
        self
    }

    /// The version number of the stored form of `V`. Raise it when the form changes so that older programs could not read it:
    /// entries of another number are neither read nor overwritten while they live, so two versions of a program can run at the
    /// same time. Default 0.
    pub fn schema(mut self, number: u32) -> Self {
        self.draft.schema = number;
        self
    }

    /// Returns a row's version from its value. With it the store rejects rows that are older than the newest version it has
    /// received from a loader or from [`Cache::invalidate_at`](crate::cache::Cache::invalidate_at). All versions of a cache must come from one sequence, and it
    /// must grow with every write of a row, also across a delete and a new insert. An absent row has no version.
    pub fn version(mut self, version: impl Fn(&V) -> u64 + Send + Sync + 'static) -> Self {
        self.version = Some(Arc::new(version));
        self
    }
}
