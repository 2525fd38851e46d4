//! Uber's version comparison: a stored value carries the row's version, and no older version replaces it.
//!
//! A write does not delete. It stores a marker with its version (an entry without a value), which rejects older fills for as
//! long as it lives. A write without a version can only delete, and then the key is unprotected.

use super::store::{PlainStore, entry_of};
use bytes::Bytes;
use evenkeel::cache::CacheError;
use evenkeel_link::support::ms;
use evenkeel_protocol::cache::header::{Entry, Header};
use evenkeel_protocol::cache::steps::{Fill, Filled, Invalidation};
use std::time::Duration;

/// How long a marker lives. A load that is slower than this may store an older row.
const MARK_TTL: Duration = Duration::from_secs(60);

pub(super) async fn fill(store: &PlainStore, key: &[u8], fill: &Fill, schema: u32) -> Result<Filled, CacheError> {
    let Some(version) = fill.version else {
        return Err(CacheError::Unsupported("Protocol::Version needs a loader that returns the row's version"));
    };
    let stored = store.set_if_not_older(key, version, entry_of(fill, schema, version), fill.hard_ms).await?;
    Ok(if stored { Filled::Stored } else { Filled::BelowFloor })
}

pub(super) async fn invalidate(
    store: &PlainStore,
    key: &[u8],
    with: &Invalidation,
    schema: u32,
) -> Result<(), CacheError> {
    let Some(version) = with.floor else { return store.delete(key).await };
    let ttl_ms = ms(MARK_TTL);
    let mark = Entry {
        header: Header {
            schema,
            generation: with.generation,
            ends_at_ms: store.now_ms() + ttl_ms,
            floor: version,
            ..Header::default()
        },
        payload: Bytes::new(),
    };
    // If this returns false, a newer version is stored already, and the key is as fresh as this write requires.
    store.set_if_not_older(key, version, mark, ttl_ms).await.map(|_newest| ())
}
