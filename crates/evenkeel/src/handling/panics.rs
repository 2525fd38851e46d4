//! Panics of user code, as errors.

use evenkeel_link::support::panic_message;
use futures_util::FutureExt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a future; a panic in it becomes an error with the panic's message.
pub(crate) async fn catch_panic<F: Future>(future: F) -> Result<F::Output, String> {
    AssertUnwindSafe(future).catch_unwind().await.map_err(panic_message)
}

/// Runs a callback of the user; a panic in it becomes an error with the panic's message.
pub(crate) fn catch_panic_of_call<R>(call: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(panic_message)
}
