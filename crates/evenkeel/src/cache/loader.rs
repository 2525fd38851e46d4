//! The user's loader: in a task of its own, with a deadline, and never mistaken for a value when it fails.

use super::error::CacheError;
use crate::clock::Clock;
use crate::guard::guard;
use std::any::Any;
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tracing::Instrument;

/// A load that has not begun. Dropped unpolled, it asked nothing of the database.
pub(crate) type Loader<V> = Pin<Box<dyn Future<Output = Result<Option<V>, CacheError>> + Send>>;

/// The user's future with its error made ours.
pub(crate) fn loader<V, E>(load: impl Future<Output = Result<Option<V>, E>> + Send + 'static) -> Loader<V>
where
    E: Into<Box<dyn Error + Send + Sync>>,
{
    Box::pin(async move { load.await.map_err(|error| CacheError::Loader(Arc::from(error.into()))) })
}

/// Runs a load to its end, for at most `limit`. What a panic or a deadline leaves behind is an error.
pub(crate) async fn run<V: Send + 'static>(
    loader: Loader<V>,
    clock: &Clock,
    limit: Duration,
) -> Result<Option<V>, CacheError> {
    // A task of its own, so that a panic ends there and not in the flight that others wait for.
    let mut task = tokio::spawn(loader.in_current_span());
    let ended = if guard("loader_deadline") { clock.timeout(limit, &mut task).await } else { Ok((&mut task).await) };
    match ended {
        Ok(Ok(loaded)) => loaded,
        Ok(Err(error)) if error.is_panic() => {
            if guard("loader_panic_is_an_error") {
                Err(panicked(error.into_panic().as_ref()))
            } else {
                Ok(None)
            }
        }
        Ok(Err(_)) => Err(CacheError::LoaderDropped),
        Err(_) => {
            task.abort();
            Err(CacheError::LoaderTimedOut { after: limit })
        }
    }
}

fn panicked(payload: &(dyn Any + Send)) -> CacheError {
    let words = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no words were left");
    CacheError::LoaderPanicked(words.into())
}
