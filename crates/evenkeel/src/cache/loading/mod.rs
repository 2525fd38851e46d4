//! Loading: a load from its lease to the fill of its entry.
//!
//! `flight` is the single-flight call that readers of a key share; `admission` bounds how many loads run; `loader` calls the user's code;
//! `fill` stores what it returned; `payload` is the value as bytes, and `unreadable` what happens when the codec cannot read it.

pub(crate) mod admission;
pub(crate) mod fill;
pub(crate) mod flight;
pub(crate) mod load;
pub(crate) mod loader;
pub(crate) mod payload;
pub(crate) mod unreadable;
pub(crate) mod user_code;
