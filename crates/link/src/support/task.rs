//! Tasks whose futures are boxed.
//!
//! tokio compiles a task for each type of future, once for each of its schedulers, and with it about twenty functions; a generic library is
//! compiled again in each program. A boxed future is one type for all tasks with one output.

use std::future::Future;
use std::pin::Pin;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Any future with this output.
pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Starts a task on the current runtime, as [`tokio::spawn`] does.
pub fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    spawn_boxed(&Handle::current(), Box::pin(future))
}

/// Starts a task on this runtime.
pub fn spawn_on<T: Send + 'static>(
    runtime: &Handle,
    future: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    spawn_boxed(runtime, Box::pin(future))
}

fn spawn_boxed<T: Send + 'static>(runtime: &Handle, future: BoxFuture<T>) -> JoinHandle<T> {
    runtime.spawn(future)
}
