//! Rows in batches, read ahead by a thread of their own while the database works on the batch before.

use super::progress::Position;
use super::records::{Record, Records};
use std::io::{BufRead, Result};
use tokio::sync::mpsc;

/// Rows of one transaction: large enough that its fixed costs vanish, small enough that others do not wait long for it.
pub(super) const ROWS_MAX: usize = 500;

/// Bytes of the file in one batch, give or take one row: bounds memory when rows are large.
const BYTES_MAX: u64 = 1 << 20;

/// Batches that are ready and wait.
const AHEAD_MAX: usize = 2;

/// Some rows, and where the file stands after them.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) records: Vec<Record>,
    pub(super) position: Position,
    /// All names of fields that mean nothing here, as far as they were met.
    pub(super) unknown: Vec<String>,
}

/// Reads `records` to their end. The channel closes after the last batch, or after an error.
pub(super) fn read_ahead<R: BufRead + Send + 'static>(records: Records<R>) -> mpsc::Receiver<Result<Batch>> {
    let (sender, receiver) = mpsc::channel(AHEAD_MAX);
    tokio::task::spawn_blocking(move || {
        let mut records = records;
        loop {
            let batch = next(&mut records);
            let failed = batch.is_err();
            if batch.as_ref().is_ok_and(|batch| batch.records.is_empty()) {
                return;
            }
            // Nobody takes it: the import has failed.
            if sender.blocking_send(batch).is_err() || failed {
                return;
            }
        }
    });
    receiver
}

fn next<R: BufRead>(records: &mut Records<R>) -> Result<Batch> {
    let start = records.position().offset;
    let mut batch = Vec::new();
    while batch.len() < ROWS_MAX && records.position().offset - start < BYTES_MAX {
        match records.next_record()? {
            Some(record) => batch.push(record),
            None => break,
        }
    }
    Ok(Batch { records: batch, position: records.position().clone(), unknown: records.unknown().to_vec() })
}
