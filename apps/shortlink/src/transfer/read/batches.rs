//! Batches of records. A blocking thread reads ahead while the database works on the previous batch.

use super::position::Position;
use super::records::{Record, Records};
use std::io::{BufRead, Result};
use tokio::sync::mpsc;

/// Rows of one transaction: enough to amortize its fixed costs, few enough that other imports do not wait long.
pub(super) const ROWS_MAX: usize = 500;

/// Bytes of the file in one batch (the last row may exceed it), to bound memory with large rows.
const BYTES_MAX: u64 = 1 << 20;

/// Batches read ahead.
const AHEAD_MAX: usize = 2;

/// Records, and the position in the file after them.
#[derive(Debug)]
pub(in crate::transfer) struct Batch {
    pub(in crate::transfer) records: Vec<Record>,
    pub(in crate::transfer) position: Position,
    /// The unknown column names found so far.
    pub(in crate::transfer) unknown: Vec<String>,
    /// The one of them that looks like the codes of the links.
    pub(in crate::transfer) suspect: Option<String>,
}

/// Reads `records` to their end. The channel closes after the last batch, or after an error.
pub(in crate::transfer) fn read_ahead<R: BufRead + Send + 'static>(
    records: Records<R>,
) -> mpsc::Receiver<Result<Batch>> {
    let (sender, receiver) = mpsc::channel(AHEAD_MAX);
    tokio::task::spawn_blocking(move || {
        let mut records = records;
        loop {
            let batch = next(&mut records);
            let failed = batch.is_err();
            if batch.as_ref().is_ok_and(|batch| batch.records.is_empty()) {
                return;
            }
            // The receiver is gone: the import has failed.
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
    let (unknown, suspect) = (records.unknown().to_vec(), records.suspect().map(str::to_owned));
    Ok(Batch { records: batch, position: records.position().clone(), unknown, suspect })
}
