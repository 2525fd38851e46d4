//! Appends entries.

pub(crate) mod entry;
pub(crate) mod producers;
pub(crate) mod send;
