//! The delayed double delete: deletes now, and once more after a delay, in the hope that every older load has been stored by
//! then.

use super::second_delete::SecondDeletes;
use super::store::{PlainStore, entry_of};
use evenkeel::cache::CacheError;
use evenkeel_protocol::cache::steps::{Fill, Filled};
use std::time::Duration;

/// Stores every loaded value: this protocol cannot distinguish an older row from a newer one.
pub(super) async fn fill(store: &PlainStore, key: &[u8], fill: &Fill, schema: u32) -> Result<Filled, CacheError> {
    store.set(key, entry_of(fill, schema, 0), fill.hard_ms).await?;
    Ok(Filled::Stored)
}

/// Returns after the first delete.
pub(super) async fn invalidate(
    store: &PlainStore,
    key: &[u8],
    delay: Duration,
    second: &SecondDeletes,
) -> Result<(), CacheError> {
    store.delete(key).await?;
    if !second.enqueue(key, delay).await {
        delete_later(store, key, delay);
    }
    Ok(())
}

/// The second delete by a timer, which is lost if the process dies.
fn delete_later(store: &PlainStore, key: &[u8], delay: Duration) {
    let (store, key) = (store.clone(), key.to_vec());
    evenkeel_link::support::spawn(async move {
        store.clock.sleep(delay).await;
        if let Err(error) = store.delete(&key).await {
            tracing::warn!(%error, "the second delete of a delayed double delete failed; the entry may stay stale until its ttl");
        }
    });
}
