//! [`CodeSequence`]: the sequence of the generated codes, reserved from the database in blocks.

use super::StoreError;
use super::database::{Dialect, Pools};
use super::statements;
use crate::codes::CODES;
use std::ops::Range;
use tokio::sync::Mutex;

/// Numbers per block. A process that ends wastes the rest of its block.
const BLOCK: u64 = 256;

/// The current block of this process. The database hands out the blocks, so any number of processes share one sequence.
#[derive(Default)]
pub(super) struct CodeSequence(Mutex<Range<u64>>);

impl CodeSequence {
    /// The next number. The first caller that finds the block empty reserves a new one while the others wait. Must not be called
    /// inside a transaction: on SQLite, with its single write connection, it would deadlock.
    pub(super) async fn next<DB: Dialect>(&self, pools: &Pools<DB>) -> Result<u64, StoreError> {
        let mut block = self.0.lock().await;
        if block.is_empty() {
            *block = statements::reserve::<DB>(&mut *pools.writer().await?, BLOCK).await?;
        }
        block.next().filter(|number| *number < CODES).ok_or(StoreError::CodesExhausted)
    }
}
