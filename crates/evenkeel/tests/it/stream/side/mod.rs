//! The user's side of streams, on both backends. Time is frozen unless a test advances it, and handlers end when a test says so.

macro_rules! on_both {
    ($($story:ident)+) => { on_both_with!{crate::stream::side::rig::Rig: $($story)+} };
}

mod admin;
mod appends;
mod batches;
mod exclusive;
mod extremes;
mod failures;
mod faults;
mod hostile;
mod order;
mod owners;
mod rig;
mod suspects;
mod works;
