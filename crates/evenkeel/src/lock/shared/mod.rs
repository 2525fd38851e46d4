//! Locks that several hold at once, or that many keys share.

pub(crate) mod rw;
pub(crate) mod semaphore;
pub(crate) mod striped;
pub(crate) mod stripes;
