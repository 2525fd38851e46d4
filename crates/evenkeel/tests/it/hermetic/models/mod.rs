//! The conformance suites on the models, which are the embedded backend.

mod id;
mod limit;
mod lock;
mod pool;
mod process;
mod queue;
mod stream;
