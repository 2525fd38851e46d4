//! Background tasks: started by their owner, stopped when it is dropped, restarted after a panic.

use super::task::{BoxFuture, spawn};
use crate::clock::Clock;
use std::future::Future;
use std::time::Duration;
use tokio::task::{AbortHandle, JoinSet};

/// The delay before a task is restarted after a panic, so that one that always panics does not occupy a core.
const RESTART_DELAY: Duration = Duration::from_secs(1);

/// A running task; dropping this aborts it.
pub struct Background(Option<AbortHandle>);

impl Background {
    /// Starts `run` on the current runtime. The task may return when it is finished; after a panic (in a user's hook, for example)
    /// it is started again.
    pub fn spawn<F>(name: &'static str, clock: Clock, run: impl Fn() -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::start(name, clock, Box::new(move || Box::pin(run())))
    }

    fn start(name: &'static str, clock: Clock, run: Box<dyn Fn() -> BoxFuture<()> + Send>) -> Self {
        let keeper = spawn(async move {
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

    /// Detaches the task: it runs until it returns.
    pub fn leave(mut self) {
        self.0 = None;
    }

    /// Whether the task has ended, for example with its runtime.
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
