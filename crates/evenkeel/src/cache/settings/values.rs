//! The settings of [`CacheBuilder`] for the stored form of values.

use super::builder::CacheBuilder;
use std::sync::Arc;

/// # Stored values
///
/// How values are stored. Sizes are in bytes. [`codec`](Self::codec) is the encoding.
impl<K: ?Sized, V, C> CacheBuilder<K, V, C> {
    setters! {
        /// Values of at least this many bytes are compressed (LZ4), if that makes them smaller. Default 4 KiB.
        pub fn compress_from(bytes: usize) => draft.compress_bytes_min = Some(bytes);

        /// Values above this many bytes (before compression) are returned and not stored. Default 16 MiB.
        pub fn value_bytes_max(bytes: usize) => draft.value_bytes_max = Some(bytes);

        /// The version number of the stored form of `V`. Raise it when the form changes so that older programs could not read it:
        /// entries of another number are neither read nor overwritten while they live, so two versions of a program can run at the
        /// same time. Default 0.
        pub fn schema(number: u32) => draft.schema = number;

        /// Returns a row's version from its value. With it the store rejects rows that are older than the newest version it has
        /// received from a loader or from [`Cache::invalidate_at`](crate::cache::Cache::invalidate_at). All versions of a cache must come from one sequence, and it
        /// must grow with every write of a row, also across a delete and a new insert. An absent row has no version.
        pub fn version(version: impl Fn(&V) -> u64 + Send + Sync + 'static) => version = Some(Arc::new(version));
    }
}
