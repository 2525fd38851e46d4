//! Ids that are never issued twice, and short texts for them.
//!
//! A [`Snowflake`] issues 64-bit ids that sort by time, without a call per id. Its process leases a worker id from Redis and reserves time
//! ahead of use; each new owner of a worker id begins above all time that was ever reserved. So no clock step, restart, suspend, reused
//! worker id or failover repeats an id.
//!
//! ```
//! use evenkeel::Keel;
//! use evenkeel::id::Alphabet::Base62;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let keel = Keel::memory(); // or Keel::connect("redis://127.0.0.1").await?
//! let orders = keel.snowflake("orders").build().await?; // once per process; clone it
//! let (first, second) = (orders.next().await?, orders.next().await?);
//! assert!(first < second);
//! assert_eq!(serde_json::to_string(&first)?, format!("\"{first}\"")); // a text: JavaScript rounds large numbers
//! println!("{} was issued by worker {}", Base62.encode(first.get()), orders.parts(first).worker);
//! orders.release().await?; // at shutdown: the worker id is free at once
//! # Ok(())
//! # }
//! ```
//!
//! * [`Snowflake`] — the generator, from [`Keel::snowflake`](crate::Keel::snowflake); [`Layout`] — how many bits are time, worker and
//!   sequence number; [`Id`] — a text in JSON.
//! * `Segments`, from `Keel::segments` (with a database's feature) — consecutive numbers, in blocks that a database has committed
//!   (and Redis hands out, if `via_redis` says so).
//! * [`Alphabet`] — numbers in Base62 and Base58; [`Shuffle`] — a keyed permutation, so that codes made from numbers cannot be enumerated.
//!
//! docs/spec/id.md specifies the protocol; the crate `evenkeel-protocol` has its atomic steps, their model and their scripts. The modules of
//! this folder: `snowflake/` (the builder; `words.rs`, which issues without a lock; `keeper.rs`, which reserves in the background), `segments/` (the
//! buffer of blocks, and `table.rs` with all SQL) and `code/`.

mod code;
#[expect(clippy::module_inception, reason = "the file of the type of this name")]
mod id;
mod metrics;
#[cfg(feature = "sql")]
mod segments;
mod snowflake;

pub use code::{Alphabet, Shuffle, ShuffleKey};
pub use evenkeel_protocol::id::error::IdError;
pub use evenkeel_protocol::id::layout::{Layout, Parts};
pub use id::Id;
#[cfg(feature = "sql")]
pub use segments::{Segments, SegmentsBuilder};
pub(crate) use snowflake::Scopes;
pub use snowflake::{Snowflake, SnowflakeBuilder};
