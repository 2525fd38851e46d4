//! The lock over several servers, in memory and on Redis.

macro_rules! on_both {
    ($($story:ident)+) => { on_both_with!{crate::lock::redlock::fleet::Fleet: $($story)+} };
}

mod cancel;
mod extremes;
mod fleet;
mod forgetting;
mod holds;
mod hostile;
mod partial;
mod refusals;
pub(crate) mod robustness;
mod servers;
