//! [`Pauses`]: points at which tests and the load test pause a change.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// A point at which a pause does the most harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PausePoint {
    /// The lock is acquired, and the transaction has not begun.
    LockAcquired,
    /// The stock is read outside of a transaction, and nothing is written.
    StockRead,
}

type Hook = dyn Fn(PausePoint) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync;

/// A hook that pauses changes; none by default.
#[derive(Clone, Default)]
pub struct Pauses(Option<Arc<Hook>>);

impl Pauses {
    /// Changes await the future of `hook` at each [`PausePoint`].
    #[must_use]
    pub fn new<F>(hook: impl Fn(PausePoint) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self(Some(Arc::new(move |point| Box::pin(hook(point)))))
    }

    pub(super) async fn at(&self, point: PausePoint) {
        if let Some(hook) = &self.0 {
            hook(point).await;
        }
    }
}
