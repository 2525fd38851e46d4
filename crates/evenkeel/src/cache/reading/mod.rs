//! Reading: what a reader asks for, what it finds under its key, and how it waits for a load elsewhere.
//!
//! `demand` is what one read asks for; `look` decides whether what it found may answer; `many` and `batch` are reads of many keys;
//! `wake_up` and `waiters` are readers that wait.

pub(crate) mod batch;
pub(crate) mod demand;
pub(crate) mod found;
pub(crate) mod look;
pub(crate) mod many;
pub(crate) mod waiters;
pub(crate) mod wake_up;
