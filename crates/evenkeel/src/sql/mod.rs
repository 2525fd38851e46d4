//! The unit of work: a SQL transaction, and the effects that follow it if it commits.

pub mod sink;
