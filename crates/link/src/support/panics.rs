//! The messages of panics.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The message of a caught panic. Its payload is dropped here, because that may panic, too.
#[must_use]
pub fn panic_message(payload: Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("non-string panic payload").to_owned();
    let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
    text
}
