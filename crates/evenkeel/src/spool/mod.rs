//! A bounded write-ahead file for effects that cannot be carried out yet and are recorded nowhere else.
//!
//! An invalidation outside a unit of work is in no outbox. If Redis is unavailable, the process keeps it in memory and replays
//! it; if the process dies as well, it is lost, unless there is a spool. With a spool the call returns `Invalidated::Deferred`,
//! and the next process with the same folder carries the invalidation out.
//!
//! ```
//! use evenkeel::Keel;
//! use evenkeel::spool::{PendingEffect, Spool, SpoolOptions};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), evenkeel::spool::SpoolError> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path().join("spool");
//! // The caches of this keel use the spool from now on.
//! let builder = Keel::builder().spool(&folder, SpoolOptions::default()).await?;
//! let keel = builder.memory(); // or .connect("redis://127.0.0.1").await?
//!
//! // A program may store effects of its own in it.
//! let spool = keel.spool().unwrap().clone();
//! let sequence = spool.append(PendingEffect::write("shortlink/links", "42", "the new row")).await?;
//! // ... later, perhaps in another process:
//! let pending = spool.pending("shortlink/links", 100);
//! assert_eq!(pending[0].sequence, sequence);
//! spool.done(&[sequence]); // after it was carried out
//! # spool.close().await
//! # }
//! ```
//!
//! docs/spec/spool.md is the specification. The modules, from the outside in: `spool` is the handle; `writer` the thread that
//! owns the files; `segments` the files; `live` the pending effects in memory; `format` the encoding.

mod effect;
mod error;
#[cfg_attr(not(feature = "testing"), expect(unreachable_pub, reason = "`testing` has it"))]
pub(crate) mod format;
mod live;
mod metrics;
mod options;
mod segments;
#[expect(clippy::module_inception, reason = "the file holds the type that the folder is named after")]
mod spool;
mod writer;

pub use effect::{Kind, PendingEffect, Spooled};
pub use error::SpoolError;
pub use options::{Fsync, SpoolOptions, WhenFull};
pub use spool::{Spool, SpoolStats};
