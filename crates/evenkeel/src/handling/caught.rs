//! Panics of user code, as errors.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

/// Runs a future; a panic in it becomes an error with the panic's message.
pub(crate) async fn caught<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = std::pin::pin!(future);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(panic) => Poll::Ready(Err(panic_message(panic))),
    })
    .await
}

/// Runs a callback of the user; a panic in it becomes an error with the panic's message.
pub(crate) fn caught_call<R>(call: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(panic_message)
}

fn panic_message(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("the panic payload is not a string").to_owned();
    // Dropping the user's payload may panic, too.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(panic)));
    text
}
