//! Broken connections, outages of Redis, and user code that misbehaves.

mod faults;
pub(super) mod hostile;
mod troubles;
