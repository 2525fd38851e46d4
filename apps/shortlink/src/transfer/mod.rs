//! Import and export of links as TSV, CSV and JSON Lines.
//!
//! A file is read as a stream of bounded lines, so memory does not grow with its size. Rows go to their [`ImportDestination`] in batches.
//! In a database each batch commits together with a checkpoint, so an interrupted import resumes. Imports are idempotent: a second
//! run of the same file adds no row.

mod destination;
mod export;
mod format;
mod import;
mod progress;
mod read;
mod rejected;
mod remote;
mod report;
mod row;
mod tls;

pub use destination::ImportDestination;
pub use export::{ExportSource, export, header, line};
pub use format::Format;
pub use import::{CodeSource, ImportSource, import};
pub use progress::Counts;
pub use read::{Position, Record, Records};
pub use remote::Remote;
pub use report::Report;
pub(crate) use report::links;
pub use row::TransferRow;
