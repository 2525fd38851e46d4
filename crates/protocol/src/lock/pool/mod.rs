//! Pools of permits, which several owners hold at once under one name: a read/write lock is a pool of 500, of which a reader takes one and
//! a writer all; the size of a semaphore's pool is the user's choice.

mod backend;
mod state;
pub mod steps;

pub(crate) use backend::scripts;
pub use backend::{Pool, PoolBackend};
