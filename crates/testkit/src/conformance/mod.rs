//! One conformance suite per capability: public functions that every backend passes, on every server of the matrix.
//!
//! A test names the backend and calls the function; the function asserts. So a backend that misses one call is seen in its
//! list of tests, and a failure names the promise that broke.

pub mod cache;
pub mod differential;
pub mod exclusive;
pub mod id;
pub mod limit;
pub mod lock;
pub mod pool;
pub mod process;
pub mod queue;
pub mod rig;
pub mod step;
pub mod stream;
pub mod stream_sink;
