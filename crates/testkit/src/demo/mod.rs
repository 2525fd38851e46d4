//! The demonstrations of `cargo xtask demo NAME`.

pub mod stale;
