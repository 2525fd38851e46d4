//! [`Stalls`]: the places where a change may be held up, for those who want to see what happens then.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// A place where a process may stand still at the worst moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// The lock is acquired; nothing was sent to the database.
    Acquired,
    /// The stock was read and nothing is written yet, outside of any transaction.
    Read,
}

type Hold = dyn Fn(Stall) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync;

/// Holds changes up, or does not (which is the default).
#[derive(Clone, Default)]
pub struct Stalls(Option<Arc<Hold>>);

impl Stalls {
    /// At each place a change waits for the future that `hold` answers.
    #[must_use]
    pub fn new<F>(hold: impl Fn(Stall) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self(Some(Arc::new(move |stall| Box::pin(hold(stall)))))
    }

    pub(super) async fn at(&self, stall: Stall) {
        if let Some(hold) = &self.0 {
            hold(stall).await;
        }
    }
}

impl std::fmt::Debug for Stalls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stalls({})", if self.0.is_some() { "some" } else { "none" })
    }
}
