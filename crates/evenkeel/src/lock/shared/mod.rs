//! Locks with several concurrent holders, and locks that many keys share.

pub(crate) mod rw;
pub(crate) mod semaphore;
pub(crate) mod striped;
pub(crate) mod stripes;
