//! Loading: a load from its lease to the fill of its entry.
//!
//! `plan` is how a load is run, and for which reader; `load` runs it in a task of its own, with the `lease` that it requests and
//! ends; `flight` is the single-flight call that readers of a key share; `rescue` serves older values in place of a failed load;
//! `admission` limits concurrent loads; `loader` calls the user's code; `fill` stores its result; `payload` encodes values, and
//! `unreadable` handles values that the codec cannot decode.

pub(crate) mod admission;
pub(crate) mod fill;
pub(crate) mod lease;
pub(crate) mod load;
pub(crate) mod loader;
pub(crate) mod payload;
pub(crate) mod plan;
pub(crate) mod rescue;
pub(crate) mod single_flight;
pub(crate) mod unreadable;
pub(crate) mod user_code;
