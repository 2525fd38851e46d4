//! Reads the large records that a claim does not return: piece by piece, from the end to the beginning.

use crate::queue::consume::shard::ShardWorker;
use bytes::Bytes;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::Backoff;
use evenkeel_protocol::queue::job::Job;
use evenkeel_protocol::queue::record::{Record, Unreadable};
use evenkeel_protocol::queue::steps::{PIECE_BYTES_MAX, ReadPiece, Receipt};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most bytes of large records that one consumer holds at once; a larger record is held alone.
const HELD_BYTES_MAX: u64 = 256 << 20;
/// The bytes of one permit.
const PERMIT_BYTES: u64 = 4 << 10;
/// The backoff between attempts to read a piece.
const AGAIN: Backoff = Backoff { delay_min: Duration::from_millis(20), delay_max: Duration::from_secs(1) };

/// The memory budget for the large records of one consumer.
pub(crate) struct RecordBudget(Arc<Semaphore>);

impl Default for RecordBudget {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(permits(HELD_BYTES_MAX) as usize)))
    }
}

impl RecordBudget {
    /// Waits until the budget has room for a record of this size; dropping the permit frees it.
    pub(crate) async fn take(&self, size: u64) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        Arc::clone(&self.0).acquire_many_owned(permits(size)).await.ok()
    }
}

fn permits(size: u64) -> u32 {
    u32::try_from(size.min(HELD_BYTES_MAX).div_ceil(PERMIT_BYTES)).unwrap_or(u32::MAX)
}

/// Reads the whole job of a delivery; `None` if the delivery is no longer current. Failed reads are repeated without a limit, because the
/// heartbeat cancels a lost delivery.
pub(crate) async fn fetch<T: Send + Sync + 'static>(
    worker: &ShardWorker<T>,
    receipt: &Receipt,
    size: u64,
) -> Option<Result<Box<Job>, Unreadable>> {
    let mut record = vec![0; usize::try_from(size).ok()?];
    let mut end = size;
    // The header, with token and fence, is read last: if it still shows this delivery, every piece belongs to it.
    while end > 0 {
        let from = end.saturating_sub(PIECE_BYTES_MAX);
        let piece = read(worker, receipt, from, end - from).await;
        let place = usize::try_from(from).ok()?..usize::try_from(end).ok()?;
        record.get_mut(place).filter(|place| place.len() == piece.len())?.copy_from_slice(&piece);
        end = from;
    }
    match Record::decode(&record.into()) {
        Ok(Record::Live(mut job)) => {
            let is_current = job.token == Some(receipt.token) && job.fence == receipt.fence;
            job.token = None;
            is_current.then_some(Ok(job))
        }
        Ok(Record::Ended(_)) => None,
        Err(unreadable) => Some(Err(unreadable)),
    }
}

async fn read<T: Send + Sync + 'static>(worker: &ShardWorker<T>, receipt: &Receipt, from: u64, bytes: u64) -> Bytes {
    for attempt in 0.. {
        match worker.run.core.store.run(&worker.shard, &ReadPiece { id: receipt.id, from, bytes }).await {
            Ok(piece) => return piece,
            Err(error) => worker.run.metrics.failed("piece", &error),
        }
        // The system clock, because the pause waits for a server and not for a job's due time.
        Clock::system().sleep(AGAIN.delay(attempt)).await;
    }
    Bytes::new()
}

#[cfg(test)]
mod tests {
    use super::{HELD_BYTES_MAX, RecordBudget};
    use futures_util::FutureExt;

    /// Without the budget a consumer held all large records of its slots.
    // shows: hazard F7
    #[tokio::test]
    async fn record_waits_for_room_in_the_budget() {
        let budget = RecordBudget::default();
        let room = |size| budget.take(size).now_or_never().flatten();
        let (half, other) = (room(HELD_BYTES_MAX / 2), room(HELD_BYTES_MAX / 2));
        assert!(half.is_some() && other.is_some());
        assert!(room(1).is_none(), "the budget is spent");
        drop(half);
        let small = room(1);
        assert!(small.is_some() && room(HELD_BYTES_MAX / 2).is_none());
        drop((other, small));
        assert!(room(u64::MAX).is_some(), "a record above the budget is held alone");
        assert!(room(0).is_some());
    }
}
