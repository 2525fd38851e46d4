//! Reading: the policy of a read, the lookup of its key, and the wait for a load in another process.
//!
//! `demand` is the read policy; `look` decides whether a stored value satisfies it; `many` and `batch` are reads of many keys;
//! `wake_up` and `waiters` are readers that wait.

pub(crate) mod batch;
pub(crate) mod demand;
pub(crate) mod found;
pub(crate) mod look;
pub(crate) mod many;
pub(crate) mod waiters;
pub(crate) mod wake_up;
