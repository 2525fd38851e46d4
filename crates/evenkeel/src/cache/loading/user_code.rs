//! Calls of what the user gave: a codec, or a function of a value. A panic in one is an error of that value alone.

use super::loader::panic_message;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `call` returns, or the message of its panic: unless a guard that was taken away says not to catch it.
pub(crate) fn catch_panic<T>(is_guarded: bool, call: impl FnOnce() -> T) -> Result<T, String> {
    if !is_guarded {
        return Ok(call());
    }
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let message = panic_message(payload.as_ref());
        // To drop the payload may panic as well.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
        message
    })
}
