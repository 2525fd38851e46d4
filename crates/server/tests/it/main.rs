//! The program `evenkeel` as a user runs it.
#![expect(clippy::unwrap_used, reason = "a test may end at the first surprise")]

mod doctor;
mod hermetic;
mod inbox;
mod lock;
mod outbox;
mod program;
mod queue;
mod queue_rows;
