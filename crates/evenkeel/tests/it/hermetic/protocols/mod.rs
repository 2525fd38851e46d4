//! The protocols as models that a checker explores completely.

mod cache;
mod id;
mod limit;
mod lock;
mod ranges;
mod redlock;
mod rw;
mod sequence;
mod stream;
