//! A bounded file for obligations that cannot be carried out yet and are written down nowhere else.
//!
//! An invalidation that follows somebody else's commit is in no outbox. If Redis is away, the process remembers it; if the process
//! dies as well, it is lost, unless there is a spool: then the caller is told
//! `Invalidated::Deferred`, and the next process with the same folder carries it out.
//!
//! ```
//! use evenkeel::Keel;
//! use evenkeel::spool::{Obligation, Spool, SpoolOptions};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), evenkeel::spool::SpoolError> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path().join("spool");
//! // Opt in with one line; the caches of this keel use it from now on.
//! let builder = Keel::builder().spool(&folder, SpoolOptions::default()).await?;
//! let keel = builder.memory(); // or .connect("redis://127.0.0.1").await?
//!
//! // A program may keep obligations of its own in it.
//! let spool = keel.spool().unwrap().clone();
//! let sequence = spool.append(Obligation::write("shortlink/links", "42", "the new row")).await?;
//! // ... later, perhaps in another process:
//! let owed = spool.pending("shortlink/links", 100);
//! assert_eq!(owed[0].sequence, sequence);
//! spool.done(&[sequence]); // it is carried out
//! # spool.close().await
//! # }
//! ```
//!
//! docs/spec/spool.md is the specification. In this folder, from the outside in: `spool` is the handle; `writer` the thread that
//! owns the files; `segments` the files; `live` what is in them and not done; [`format`](mod@format) the bytes.

mod error;
pub mod format;
mod live;
mod metrics;
mod obligation;
mod options;
mod segments;
#[expect(clippy::module_inception, reason = "the file holds the type that the folder is named after")]
mod spool;
mod writer;

pub use error::SpoolError;
pub use obligation::{Kind, Obligation, Spooled};
pub use options::{Fsync, SpoolOptions, WhenFull};
pub use spool::{Spool, SpoolStats};
