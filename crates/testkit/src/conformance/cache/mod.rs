//! The conformance suite of the cache's steps: each story is a public function that every backend passes.
//!
//! A story opens with the bug it keeps away. `fences`: no fill of a load survives a later invalidation. `leases`: one load
//! at a time, and none forever. `lives`: how long a value may be served. `versions`: which versions are too old to be
//! stored. `schemas`: programs of different versions at the same time. `windows`: writers that need fresh reads.
//! [`side_by_side`] runs the same random steps on two backends and compares every reply; [`schedules`] delivers calls late,
//! twice and in any order, and checks what is served.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a story that cannot go on fails")]

pub mod backend;
pub mod fences;
pub mod leases;
pub mod lives;
pub mod player;
pub mod schedules;
pub mod schemas;
pub mod side_by_side;
pub mod versions;
pub mod windows;

pub use backend::{Backend, InMemory, OnRedis};
