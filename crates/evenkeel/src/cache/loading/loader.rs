//! The user's loader: in a task of its own, with a deadline, and never mistaken for a value when it fails.

use crate::cache::key::{CacheKey, KeyBytes};
use crate::cache::settings::freshness::Source;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::error::CacheError;
use std::any::Any;
use std::collections::HashMap;
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tracing::Instrument;

/// The load of one row that has not begun; it is told where it may read. Dropped, it asked nothing of the database.
pub(crate) type Loader<V> = Box<dyn FnOnce(Source) -> Load<Option<V>> + Send>;

/// The load of several rows, by the bytes of their keys. Those that it does not bring do not exist.
pub(crate) type BatchLoader<V> = Load<Rows<V>>;

/// Rows by the bytes of their keys.
pub(crate) type Rows<V> = HashMap<Box<[u8]>, V>;

/// A load on its way, or about to be.
pub(crate) type Load<T> = Pin<Box<dyn Future<Output = Result<T, CacheError>> + Send>>;

/// The user's future with its error made ours, wherever it reads.
pub(crate) fn loader<V, E>(load: impl Future<Output = Result<Option<V>, E>> + Send + 'static) -> Loader<V>
where
    E: Into<Box<dyn Error + Send + Sync>>,
{
    Box::new(|_| Box::pin(async move { load.await.map_err(own_error) }))
}

/// The same for a loader that asks where it may read.
pub(crate) fn loader_from<V, F, L, E>(load: F) -> Loader<V>
where
    F: FnOnce(Source) -> L + Send + 'static,
    L: Future<Output = Result<Option<V>, E>> + Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    // Called inside, so that its panic is one of the load.
    Box::new(|source| Box::pin(async move { load(source).await.map_err(own_error) }))
}

/// The same for many rows.
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

fn own_error(error: impl Into<Box<dyn Error + Send + Sync>>) -> CacheError {
    CacheError::Loader(Arc::from(error.into()))
}

/// Runs a load to its end, for at most `limit`. What a panic or a deadline leaves behind is an error.
pub(crate) async fn run<T: Default + Send + 'static>(
    loader: Load<T>,
    clock: &Clock,
    limit: Duration,
) -> Result<T, CacheError> {
    // A task of its own, so that a panic ends there and not in the flight that others wait for.
    let mut task = tokio::spawn(loader.in_current_span());
    let ended = if guard("loader_deadline") { clock.timeout(limit, &mut task).await } else { Ok((&mut task).await) };
    match ended {
        Ok(Ok(loaded)) => loaded,
        Ok(Err(error)) if error.is_panic() => {
            if guard("loader_panic_is_an_error") {
                Err(CacheError::LoaderPanicked(panic_message(error.into_panic().as_ref()).into()))
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

/// What a panic said.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> String {
    let message = payload.downcast_ref::<&str>().copied();
    message.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message").to_owned()
}
