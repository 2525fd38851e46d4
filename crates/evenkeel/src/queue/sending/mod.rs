//! Enqueues jobs.

pub(crate) mod builder;
pub(crate) mod durable;
#[cfg(feature = "sql")]
pub(crate) mod for_work;
pub(crate) mod send;
pub(crate) mod versioned;
