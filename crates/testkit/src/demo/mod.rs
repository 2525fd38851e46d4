//! Demonstrations that count instead of claiming: `cargo xtask demo NAME`.

pub mod stale;
