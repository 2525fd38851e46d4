//! The pages of one topic: its figures, its jobs, one job, its dead letters.

pub(in crate::console) mod dead;
pub(in crate::console) mod find;
pub(super) mod job;
pub(super) mod jobs;
pub(super) mod letter;
mod on_topic;
pub(super) mod queue;
mod rows;
mod why;
