//! [`Numbers`]: the sequence behind the codes, taken from the database in blocks.

use super::StoreError;
use super::dialect::Dialect;
use super::pools::Pools;
use super::statements;
use crate::codes::CODES;
use std::ops::Range;
use tokio::sync::Mutex;

/// How many numbers are taken at once. A process that ends leaves the rest of its block unused: nobody misses them.
const BLOCK: u64 = 256;

/// The block this process draws from. Blocks are handed out by the database, so any number of processes share one sequence.
#[derive(Default)]
pub(super) struct Numbers(Mutex<Range<u64>>);

impl Numbers {
    /// The next number. Whoever finds the block empty fetches the next one while the others wait for it.
    /// Not to be called in a transaction: where there is one connection that writes, it would wait for itself.
    pub(super) async fn next<DB: Dialect>(&self, pools: &Pools<DB>) -> Result<u64, StoreError> {
        let mut block = self.0.lock().await;
        if block.is_empty() {
            *block = statements::reserve::<DB>(&mut *pools.writer().await?, BLOCK).await?;
        }
        block.next().filter(|number| *number < CODES).ok_or(StoreError::CodesExhausted)
    }
}
