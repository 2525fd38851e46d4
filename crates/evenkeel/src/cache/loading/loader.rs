//! The user's loader, which runs in a task of its own with a deadline. A failure is always an error, never a value.

use crate::cache::key::{CacheKey, KeyBytes};
use crate::cache::settings::freshness::Source;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{guard, panic_message};
use evenkeel_protocol::cache::error::CacheError;
use std::collections::HashMap;
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tracing::Instrument;

/// A load of one row that has not started; called with the source from which it may read. Dropped, it has not queried the
/// database.
pub(crate) type Loader<V> = Box<dyn FnOnce(Source) -> Load<Option<V>> + Send>;

/// A load of several rows by their encoded keys. Rows that it does not return do not exist.
pub(crate) type BatchLoader<V> = Load<Rows<V>>;

/// Rows by their encoded keys.
pub(crate) type Rows<V> = HashMap<Box<[u8]>, V>;

/// A load, running or about to start.
pub(crate) type Load<T> = Pin<Box<dyn Future<Output = Result<T, CacheError>> + Send>>;

/// The user's future with its error converted, for any source.
pub(crate) fn loader<V, E>(load: impl Future<Output = Result<Option<V>, E>> + Send + 'static) -> Loader<V>
where
    E: Into<Box<dyn Error + Send + Sync>>,
{
    Box::new(|_| Box::pin(async move { load.await.map_err(own_error) }))
}

/// Like `loader`, for a loader that receives its source.
pub(crate) fn loader_from<V, F, L, E>(load: F) -> Loader<V>
where
    F: FnOnce(Source) -> L + Send + 'static,
    L: Future<Output = Result<Option<V>, E>> + Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    // Called inside the future, so that its panic is an error of the load.
    Box::new(|source| Box::pin(async move { load(source).await.map_err(own_error) }))
}

/// Like `loader`, for several rows.
pub(crate) fn batch_loader<K, V, R, E>(load: impl Future<Output = Result<R, E>> + Send + 'static) -> BatchLoader<V>
where
    K: CacheKey,
    R: IntoIterator<Item = (K, V)>,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    Box::pin(async move {
        let rows = load.await.map_err(own_error)?;
        Ok(rows.into_iter().map(|(key, row)| (KeyBytes::new(&key).as_slice().into(), row)).collect())
    })
}

pub(crate) fn own_error(error: impl Into<Box<dyn Error + Send + Sync>>) -> CacheError {
    CacheError::Loader(Arc::from(error.into()))
}

/// Runs a load to its end, for at most `limit`. A panic or a time-out is an error.
pub(crate) async fn run<T: Default + Send + 'static>(
    loader: Load<T>,
    clock: &Clock,
    limit: Duration,
) -> Result<T, CacheError> {
    // A task of its own, so that a panic ends it and not the call that other readers wait for.
    let mut task = evenkeel_link::support::spawn(loader.in_current_span());
    let ended = if guard("loader_deadline") { clock.timeout(limit, &mut task).await } else { Ok((&mut task).await) };
    match ended {
        Ok(Ok(loaded)) => loaded,
        Ok(Err(error)) if error.is_panic() => {
            if guard("loader_panic_is_an_error") {
                Err(CacheError::LoaderPanicked(panic_message(error.into_panic()).into()))
            } else {
                Ok(T::default())
            }
        }
        Ok(Err(_)) => Err(CacheError::LoaderDropped),
        Err(_) => {
            task.abort();
            Err(CacheError::LoaderTimedOut { after: limit })
        }
    }
}
