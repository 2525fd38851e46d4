//! Tests of change capture, in a binary of their own that links fast.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod binlog;
mod change_table;
mod effects;
mod extremes;
mod gaps;
mod hermetic;
mod poll;
mod readers;
mod rig;
