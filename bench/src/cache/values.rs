//! The caches under test and what is in them.

use super::{KEYS, VALUE_BYTES};
use anyhow::{Result, bail};
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::cache::{Cache, CacheError};
use evenkeel::codec::Raw;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::time::Duration;

/// Longer than a run: what is measured is hits, not expiry.
const TTL: Duration = Duration::from_secs(3600);

/// A row of 100 bytes in its JSON form.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct User {
    id: u64,
    name: String,
    mail: String,
    active: bool,
}

/// What a loader returns that is at once done.
pub(crate) type Loaded<V> = Ready<Result<Option<V>, Infallible>>;

/// A cache of plain bytes.
pub(crate) async fn raw(keel: &Keel, name: &str) -> Result<Cache<u64, Bytes>> {
    Ok(keel.cache::<u64, Bytes>(name).ttl(TTL).codec(Raw).open().await?)
}

/// A cache of plain bytes with room for so many in the process.
pub(crate) async fn near<K>(keel: &Keel, name: &str, entries: usize) -> Result<Cache<K, Bytes>> {
    Ok(keel.cache::<K, Bytes>(name).ttl(TTL).codec(Raw).near(entries).open().await?)
}

/// A cache of rows as JSON, the default.
pub(crate) async fn json(keel: &Keel, name: &str) -> Result<Cache<u64, User>> {
    Ok(keel.cache::<u64, User>(name).ttl(TTL).open().await?)
}

/// The database's answer for bytes.
pub(crate) fn bytes() -> Loaded<Bytes> {
    ready(Ok(Some(Bytes::from_static(&[b'x'; VALUE_BYTES]))))
}

/// The database's answer for a row.
pub(crate) fn user() -> Loaded<User> {
    let (name, mail) = ("Augusta Ada King Lovelace".to_owned(), "ada.lovelace@example.org".to_owned());
    ready(Ok(Some(User { id: 1_234_567_890, name, mail, active: true })))
}

/// A loader for reads that must hit.
pub(crate) fn no_load<V>() -> Ready<Result<Option<V>, String>> {
    ready(Err("a filled key was not found".to_owned()))
}

/// Loads every key once.
pub(crate) async fn fill<V: Send + Sync + 'static>(cache: &Cache<u64, V>, load: fn() -> Loaded<V>) -> Result<()> {
    const AT_ONCE: u64 = 32;
    let reads = (0..AT_ONCE).map(|lane| {
        let cache = cache.clone();
        tokio::spawn(async move {
            for key in (lane..KEYS).step_by(32) {
                cache.get(&key, |_| load()).await?;
            }
            Ok::<_, CacheError>(())
        })
    });
    for read in reads.collect::<Vec<_>>() {
        read.await??;
    }
    if cache.get(&(KEYS - 1), |_| no_load()).await?.is_none() {
        bail!("the cache is not filled");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_row_is_as_long_as_the_bytes() {
        let row = super::user().into_inner().ok().flatten();
        assert_eq!(serde_json::to_string(&row).map(|text| text.len()).ok(), Some(super::VALUE_BYTES));
    }
}
