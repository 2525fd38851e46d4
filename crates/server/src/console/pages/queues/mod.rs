//! The pages of one topic: its figures, its jobs, one job, its dead letters.

pub(crate) mod dead;
pub(crate) mod find;
pub(super) mod job;
pub(super) mod jobs;
pub(super) mod letter;
pub(super) mod queue;
mod rows;
mod why;
