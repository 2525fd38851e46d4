//! What the suites of this repository need and users do not. **Not stable**: any release may change or remove it.
//!
//! The feature `testing` also adds methods to types of the library. The documentation of each says that it is for test suites.

#[cfg(feature = "cache")]
pub use crate::cache::store::gate::{Held, Side, Step, StepGate};
#[cfg(all(feature = "lock", feature = "sql"))]
pub use crate::lock::sql::RowLock;
#[cfg(all(feature = "queue", feature = "sql"))]
pub use crate::queue::sql::{Swept, page_by_due};
#[cfg(feature = "sql")]
pub use crate::sql::outbox::effects_again;
pub use evenkeel_link::clock::TestClock;

/// The encoding of a segment of the spool.
#[cfg(feature = "spool")]
pub mod spool_format {
    pub use crate::spool::format::{
        Ending, Entry, FRAME_HEADER_BYTES, HEADER_BYTES, Parsed, frame, frame_bytes, header, parse,
    };
}

/// The steps of a stream sink, in memory and on Redis.
#[cfg(feature = "sql")]
pub mod streams {
    pub use crate::sql::sink::stream::memory::MemoryStreams;
    pub use crate::sql::sink::stream::redis::RedisStreams;
    pub use crate::sql::sink::stream::steps::{Appended, Rule, StreamSteps};
}
