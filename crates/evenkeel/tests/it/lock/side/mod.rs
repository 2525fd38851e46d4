//! The user's side of locks, on both backends. Time is frozen unless a test advances it.

macro_rules! on_both {
    ($($story:ident)+) => { on_both_with!{crate::lock::side::rig::Rig: $($story)+} };
}

mod bounds;
mod calls;
pub(super) mod cancel;
pub(super) mod extremes;
mod failures;
mod holds;
pub(crate) mod hostile;
mod many;
mod pools;
mod queue;
pub(super) mod rig;
pub(crate) mod robustness;
mod sentences;
mod sizes;
mod waiters;
