//! How versions before `open().await?` open caches and queues.

use evenkeel::cache::{Cache, CacheBuilder, CacheError};
use evenkeel::queue::{Queue, QueueBuilder, QueueError};

pub async fn open_cache<K: ?Sized, V: Send + Sync + 'static>(
    builder: CacheBuilder<K, V>,
) -> Result<Cache<K, V>, CacheError>
where
    evenkeel::codec::Json: evenkeel::codec::Codec<V>,
{
    builder.build()
}

pub async fn open_queue<T: Send + Sync + 'static>(builder: QueueBuilder<T>) -> Result<Queue<T>, QueueError>
where
    evenkeel::codec::Json: evenkeel::codec::Codec<T>,
{
    builder.build().await
}

/// What the holder of a lock says about itself.
pub fn metadata(holder: &evenkeel::lock::steps::Holder) -> &[u8] {
    &holder.words
}
