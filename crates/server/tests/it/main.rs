//! Tests of the program `evenkeel` as a child process.
#![expect(clippy::unwrap_used, reason = "a test fails at the first error")]

mod alerts;
mod api;
mod cache;
mod console;
mod doctor;
mod foreign;
mod hermetic;
mod inbox;
mod lock;
mod outbox;
mod processes;
mod program;
mod queue;
mod sick;
mod stream;
mod top;
mod vectors;
