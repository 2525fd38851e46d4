//! Calls of user code: a codec, or a function of a value. A panic in it is an error of that value alone.

use evenkeel_link::support::panic_message;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of `call`, or the message of its panic. Panics are not caught if the guard was removed by a test build.
pub(crate) fn catch_panic<T>(is_guarded: bool, call: impl FnOnce() -> T) -> Result<T, String> {
    if !is_guarded {
        return Ok(call());
    }
    catch_unwind(AssertUnwindSafe(call)).map_err(panic_message)
}
