//! The protocols as models that a checker explores completely.

mod cache;
mod id;
mod lock;
mod redlock;
mod rw;
mod sequence;
mod stream;
