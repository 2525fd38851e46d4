//! Writing: invalidations and update windows, and how a pending invalidation is replayed until it is done.
//!
//! `invalidate` is an invalidation; `write` and `window` are update windows; `ledger` has the pending and the recent invalidations; `replay` sends them again,
//! scheduled by `driver`; `deferral` stores them in the spool.

pub(crate) mod deferral;
pub(crate) mod driver;
pub(crate) mod invalidate;
pub(crate) mod ledger;
pub(crate) mod replay;
pub(crate) mod window;
pub(crate) mod write;
