//! Which stored values a reader may get, how old, and for how long.

mod fail_safe;
mod fences;
mod freshness;
mod lives;
mod mixed;
mod on_replicas;
mod operator;
mod refresh;
mod replicas;
mod windows;
