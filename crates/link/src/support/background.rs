//! Background loops: started with their owner, ended with it, restarted if they panic.

use crate::clock::Clock;
use std::future::Future;
use std::time::Duration;
use tokio::task::{AbortHandle, JoinSet};

/// Pause before a loop that panicked starts again, so that one that always panics does not burn a core.
const RESTART_DELAY: Duration = Duration::from_secs(1);

/// A running loop; ends when this is dropped.
pub struct Background(Option<AbortHandle>);

impl Background {
    /// Starts `run` on the current runtime. It may return when its work is over for good; if it panics (in a user's hook, say)
    /// it is started again.
    pub fn spawn<F>(name: &'static str, clock: Clock, run: impl Fn() -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let keeper = tokio::spawn(async move {
            loop {
                let mut task = JoinSet::new();
                task.spawn(run());
                match task.join_next().await {
                    Some(Err(error)) if error.is_panic() => {
                        tracing::error!(name, %error, "background loop panicked; restarting it");
                    }
                    _ => return,
                }
                clock.sleep(RESTART_DELAY).await;
            }
        });
        Self(Some(keeper.abort_handle()))
    }

    /// Lets it go on until it ends by itself.
    pub fn leave(mut self) {
        self.0 = None;
    }

    /// Whether it has ended, with its runtime say.
    pub fn is_over(&self) -> bool {
        self.0.as_ref().is_none_or(AbortHandle::is_finished)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(keeper) = &self.0 {
            keeper.abort();
        }
    }
}
