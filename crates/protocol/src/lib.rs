//! What happens atomically in Evenkeel's caches, queues and locks.
//!
//! **This crate is an implementation detail of `evenkeel`**: its interface changes whenever `evenkeel` needs it to. Programs use what
//! `evenkeel` re-exports; suites that compare backends may use it directly.
//!
//! Every capability has the same shape. `steps.rs` states its atomic steps as a trait. Two things implement it: `memory.rs`, the model, a
//! plain state machine without I/O, which is the embedded backend and the oracle of the tests; and `redis.rs`, typed wrappers of the
//! scripts in `scripts/*.lua`. `error.rs` says what can go wrong. The specification in words is docs/spec.

#[cfg(feature = "cache")]
pub mod cache;
pub mod codec;
#[cfg(feature = "lock")]
pub mod lock;
#[cfg(feature = "queue")]
pub mod queue;
