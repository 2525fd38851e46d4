//! The user's side of the queue, on both backends. Time is frozen unless a test advances it, and handlers end when a test
//! says so.

macro_rules! on_both {
    ($($story:ident)+) => { on_both_with!{crate::queue::side::rig::Rig: $($story)+} };
}

mod callbacks;
mod consuming;
mod desk;
pub(crate) mod extremes;
mod failures;
mod grows;
mod killed;
mod large;
mod neighbors;
mod rejected;
mod rig;
pub(crate) mod robustness;
mod sending;
mod sentences;
