//! The user's side of the cache, on both backends. Time is frozen unless a test advances it, and loads end when a test says
//! so.

macro_rules! on_both {
    ($($story:ident)+) => { on_both_with!{crate::cache::reads::rig::Rig: $($story)+} };
}

mod costs;
mod db;
mod extremes;
mod hostile;
mod large;
mod loads;
mod near;
mod rig;
pub(crate) mod robustness;
mod sentences;
mod staleness;
mod store;
mod values;
