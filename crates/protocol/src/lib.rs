//! The atomic steps of Evenkeel's caches, queues, locks, streams, limits, ids and process reports.
//!
//! **This crate is an implementation detail of `evenkeel`**: its interface changes whenever `evenkeel` needs it to. Programs use what
//! `evenkeel` re-exports; suites that compare backends may use it directly.
//!
//! Every step has two implementations: a Lua script, and what it does to the model, a state machine without I/O that is the embedded backend
//! and the oracle of the tests. In queues, streams, pools, limits, worker ids and process reports each step is a value, [`step::Step`], with its script next
//! to it. In caches and exclusive locks `steps` declares them as a trait, which `memory` and `redis` implement, with the scripts in `scripts/`.
//! `error` has the errors. The specification is in docs/spec.
//!
//! `step/` has what the capabilities share: what a step says of itself (`mod.rs`), its call of Redis (`call.rs`), and the two ways in which a `Backend`
//! runs it (`redis.rs`, `memory.rs`). A capability has `steps/`, the state of the model (`shard/`, `partition/`), and `backend.rs`, which says where the
//! two are. `process/` has no `error.rs`; `lock/pool/` and `lock/node/` use that of `lock/`; and `lock/node/` has its steps in `mod.rs`.
//!
//! Scripts are divided in the same way in every capability: a step in Lua is a file next to its step (of caches and exclusive locks in `scripts/`), whose name
//! ends in its number of keys (`fill-1.lua`), and `shared/` has the parts that several steps use: functions and constants without state. The table
//! in `scripts.rs`, `backend.rs` or `redis.rs` says which parts a step uses. In Redis they are the functions of one library (docs/spec/link.md).
//!
//! A file of a step (`queue/steps/operate/amend.rs`, `amend-1.lua`) has its request and reply, its limits, its call of Redis, how the reply is read,
//! and what the model does. The steps of queues are divided into what senders send (`enqueue`), what consumers send (`consume`), what operators do
//! (`operate`) and read (`look`), and shard migration (`grow`); those of streams into the log of a partition (`log`), `consume` and `operate`.
//! `wire.rs` and `check.rs` have what several steps send, read and check. `queue/record/` is the format of a stored job: `encode`, `decode`, and the
//! `notes` at its end. `queue/shared/consume/` has the parts of scripts about leases, claims and settlements.

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
