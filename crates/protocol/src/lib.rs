//! The atomic steps of Evenkeel's caches, queues, locks, streams and process reports.
//!
//! **This crate is an implementation detail of `evenkeel`**: its interface changes whenever `evenkeel` needs it to. Programs use what
//! `evenkeel` re-exports; suites that compare backends may use it directly.
//!
//! Every capability has the same structure. `steps` declares its atomic steps as a trait with two implementations: `memory`, the
//! model, a state machine without I/O that is the embedded backend and the oracle of the tests; and `redis`, typed wrappers of the
//! Lua scripts in `scripts/`. In the queue each step is a value, `queue::steps::Step`, with its script next to it. `error` has the
//! errors. The specification is in docs/spec.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[macro_use]
mod scripts;

#[cfg(any(feature = "queue", feature = "stream"))]
mod args;
#[cfg(feature = "cache")]
pub mod cache;
pub mod codec;
#[cfg(any(feature = "queue", feature = "stream"))]
mod foreign;
#[cfg(feature = "lock")]
pub mod lock;
#[cfg(any(feature = "queue", feature = "stream"))]
pub mod past;
#[cfg(any(feature = "queue", feature = "lock"))]
mod pattern;
pub mod process;
#[cfg(feature = "queue")]
pub mod queue;
#[cfg(any(feature = "queue", feature = "stream"))]
mod reply;
#[cfg(any(feature = "queue", feature = "stream"))]
pub mod retry_delay;
#[cfg(feature = "stream")]
pub mod stream;
