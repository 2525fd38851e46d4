//! Import and export of links as TSV, CSV and JSON lines.
//!
//! A file is read as a stream of bounded lines, so its size does not matter. Rows go to their [`Destination`] in batches; into a
//! database, each batch commits together with a checkpoint, so an import that was killed goes on where it was. A second run of
//! the same file adds nothing.

mod batches;
mod columns;
mod csv;
mod destination;
mod export;
mod format;
mod import;
mod lines;
mod progress;
mod records;
mod rejected;
mod remote;
mod report;
mod row;
mod tls;

pub use destination::{Answer, Destination};
pub use export::{Origin, export, header, line};
pub use format::Format;
pub use import::{ImportSource, import};
pub use progress::{Counts, Position};
pub use records::{Record, Records};
pub use remote::Remote;
pub use report::Report;
pub(crate) use report::links;
pub use row::TransferRow;
