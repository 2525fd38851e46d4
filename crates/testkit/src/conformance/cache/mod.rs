//! The conformance suite of the cache's steps: each story is a public function that every backend passes.
//!
//! A story opens with the bug it keeps away. `fences`: no load beats an invalidation that came after its beginning.
//! `leases`: one load at a time, and none for ever. `lives`: how long a value may be served. `versions`: what is too old to
//! be stored. `schemas`: programs of different ages side by side. `windows`: writers that want fresh reads.
//! [`side_by_side`] drives random steps through two backends and compares every answer;
//! [`schedules`] delivers calls late, twice and in any order, and looks at what is served.

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
