//! Loading: a load from its lease to the fill of its entry.
//!
//! `flight` is the single-flight call that readers of a key share; `admission` limits concurrent loads; `loader` calls the
//! user's code; `fill` stores its result; `payload` encodes values, and `unreadable` handles values that the codec cannot
//! decode.

pub(crate) mod admission;
pub(crate) mod fill;
pub(crate) mod flight;
pub(crate) mod load;
pub(crate) mod loader;
pub(crate) mod payload;
pub(crate) mod unreadable;
pub(crate) mod user_code;
