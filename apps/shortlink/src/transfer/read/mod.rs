//! Reading a file: lines, records, and batches of records.

mod batches;
mod columns;
pub(super) mod csv;
mod lines;
mod position;
mod records;
mod suspects;

pub(super) use batches::{Batch, read_ahead};
pub use position::Position;
pub use records::{Record, Records};
