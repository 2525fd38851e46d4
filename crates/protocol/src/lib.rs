//! The atomic steps of Evenkeel's caches, queues, locks, streams, limits, ids and process reports.
//!
//! **This crate is an implementation detail of `evenkeel`**: its interface changes whenever `evenkeel` needs it to. Programs use what
//! `evenkeel` re-exports; suites that compare backends may use it directly.
//!
//! Every step has two implementations: a Lua script, and what it does to the model, a state machine without I/O that is the embedded backend
//! and the oracle of the tests. In queues, streams, pools, limits, worker ids and process reports each step is a value, [`step::Step`], with its script next
//! to it. In caches and exclusive locks `steps` declares them as a trait, which `memory` and `redis` implement, with the scripts in `scripts/`.
//! `error` has the errors. The specification is in docs/spec.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[macro_use]
pub mod step;

#[cfg(feature = "cache")]
pub mod cache;
pub mod codec;
#[cfg(feature = "id")]
pub mod id;
#[cfg(feature = "limit")]
pub mod limit;
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
pub mod rejection;
#[cfg(any(feature = "queue", feature = "stream"))]
pub mod retry_delay;
#[cfg(feature = "stream")]
pub mod stream;
