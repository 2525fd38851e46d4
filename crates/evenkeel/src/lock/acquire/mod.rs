//! Acquisitions: from the builder through the local queue to a guard.

pub(crate) mod attempt;
pub(crate) mod builder;
pub(crate) mod gate;
pub(crate) mod many;
pub(crate) mod mode;
pub(crate) mod setters;
pub(crate) mod terms;
