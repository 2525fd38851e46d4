//! The bytes of the log as values. Nothing here does I/O, and no bytes make it panic.
//!
//! `header.rs` has the types of events, `table.rs` and `metadata.rs` what a table map says, `rows.rs` the images of rows, `value.rs` with
//! `decimal.rs` and `time.rs` their values, `statement.rs` what a statement of the log is about, `inflate.rs` MariaDB's compression.

mod cursor;
mod decimal;
mod group;
mod header;
mod inflate;
mod metadata;
mod rows;
mod statement;
mod table;
mod time;
mod value;

pub(super) use group::{GroupId, Rotate};
pub(super) use header::{Header, Kind, RowsKind};
pub(super) use rows::RowsEvent;
pub(super) use statement::{Query, Statement};
pub(super) use table::{Charsets, Head as TableHead, TableMap};

/// Bytes that do not say what their type promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Damaged(pub(super) String);

impl Damaged {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

/// What decoding returns.
pub(super) type Decoded<T> = Result<T, Damaged>;
