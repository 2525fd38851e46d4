//! [`Segments`]: consecutive numbers in blocks that a database has committed.

mod buffer;
mod builder;
mod table;

pub use builder::SegmentsBuilder;

use super::id::Id;
use super::metrics::SegmentMetrics;
use buffer::{Block, Buffer};
use evenkeel_link::clock::Clock;
use evenkeel_link::support::guard;
use evenkeel_protocol::id::error::IdError;
use evenkeel_protocol::id::steps::{Below, Load, Loaded, Raise, Take};
use evenkeel_protocol::id::{Sequence, WitnessBackend};
use parking_lot::Mutex;
use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::time::Duration;
use table::Table;
use tokio::sync::watch;

/// How far above the witness the numbers of a restored database go on: further than what other processes may have taken meanwhile.
const JUMP: u64 = 1 << 20;
/// The pause after a fetch that failed.
const RETRY: Duration = Duration::from_millis(200);
/// How many blocks a range has that the store hands out.
const BLOCKS: u64 = 16;
/// How many blocks a fetch takes before it gives up: other processes may be faster each time.
const ATTEMPTS: usize = 16;

/// Consecutive numbers of one sequence, from 1. Cheap to clone: open one per process and sequence.
///
/// **Guarantee.** No number is issued twice, and those of one process rise. A crash wastes at most two blocks, a call of the database with an
/// unknown outcome one. A database that was restored from an older state is noticed by a witness in the store of the keel (Redis): its
/// numbers are not issued, and the sequence goes on above those that were.
/// **Not guaranteed.** That no number is left out; order between processes; uniqueness if the database and the witness both go back between
/// two blocks, or if the database goes back while Redis is away (such blocks are counted as `unwitnessed`).
#[derive(Clone)]
pub struct Segments(Arc<Inner>);

struct Inner {
    sequence: Sequence,
    table: Table,
    witness: WitnessBackend,
    clock: Clock,
    wait: Duration,
    /// The store hands out the blocks of a range.
    is_shared: bool,
    buffer: Mutex<Buffer>,
    /// Counts fetches that are over.
    fetches: watch::Sender<u64>,
    /// Why the last fetch failed.
    failure: Mutex<Option<IdError>>,
    metrics: SegmentMetrics,
}

impl Segments {
    fn new(
        sequence: Sequence,
        table: Table,
        witness: WitnessBackend,
        clock: Clock,
        counts: RangeInclusive<u64>,
        wait: Duration,
        is_shared: bool,
    ) -> Self {
        let buffer = Mutex::new(Buffer::new(counts, clock.now()));
        let (fetches, failure, metrics) = (watch::Sender::new(0), Mutex::default(), SegmentMetrics::register());
        Self(Arc::new(Inner { sequence, table, witness, clock, wait, is_shared, buffer, fetches, failure, metrics }))
    }

    /// The next number. The next block is fetched in the background when half of one is used; a caller waits if both are used up. Dropping this
    /// future loses no number.
    ///
    /// A fetch needs a connection of the pool, and on SQLite the database's only writer: call this before a transaction that has the last
    /// connection or writes, and not within it.
    ///
    /// # Errors
    /// [`IdError::NoneInTime`] after [`wait`](SegmentsBuilder::wait), with the reason: no number was issued.
    pub async fn next(&self) -> Result<Id, IdError> {
        match self.take() {
            Some(id) => Ok(id),
            None => Box::pin(self.next_fetched()).await,
        }
    }

    /// The next number of the buffer. Begins a fetch if one is due.
    fn take(&self) -> Option<Id> {
        let mut buffer = self.0.buffer.lock();
        let number = buffer.take(|| self.0.clock.now());
        let due = buffer.begin_fetch();
        drop(buffer);
        if let Some(count) = due {
            let fetching = Fetching { inner: Arc::clone(&self.0), block: None };
            evenkeel_link::support::spawn(fetching.run(count));
        }
        number.map(Id::from)
    }

    async fn next_fetched(&self) -> Result<Id, IdError> {
        let Inner { clock, wait, fetches, .. } = &*self.0;
        let began = clock.now();
        let mut fetches = fetches.subscribe();
        loop {
            // Marked as seen before the attempt: a fetch after it wakes this task.
            fetches.borrow_and_update();
            if let Some(id) = self.take() {
                return Ok(id);
            }
            let left = wait.saturating_sub(clock.now().since(began));
            if clock.timeout(left, fetches.changed()).await.is_err() {
                let cause = self.0.failure.lock().clone().map(Arc::new);
                return Err(IdError::NoneInTime { waited: *wait, cause });
            }
        }
    }
}

/// A fetch, which is over when this is dropped.
struct Fetching {
    inner: Arc<Inner>,
    block: Option<Block>,
}

impl Fetching {
    async fn run(mut self, count: u64) {
        let fetched = self.inner.fetch(count).await;
        *self.inner.failure.lock() = fetched.as_ref().err().cloned();
        match fetched {
            Ok(block) => self.block = Some(block),
            Err(error) => {
                self.inner.metrics.failed.increment(1);
                tracing::debug!(sequence = self.inner.sequence.name(), %error, "no block of numbers could be fetched");
                self.inner.clock.sleep(RETRY).await;
            }
        }
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        self.inner.buffer.lock().fetched(self.block);
        self.inner.fetches.send_modify(|count| *count += 1);
    }
}

impl Inner {
    async fn fetch(&self, count: u64) -> Result<Block, IdError> {
        if self.is_shared {
            match self.fetch_shared(count).await {
                Err(IdError::Link(error)) => {
                    tracing::debug!(sequence = self.sequence.name(), %error, "the store hands out no block of numbers");
                }
                done => return done,
            }
        }
        self.fetch_own(count).await
    }

    /// Takes a block of the range that the store hands out, or gives it a range.
    async fn fetch_shared(&self, count: u64) -> Result<Block, IdError> {
        let of_range = |numbers: Range<u64>| Block { from: numbers.start, until: numbers.end };
        for _ in 0..ATTEMPTS {
            let least = self.buffer.lock().end();
            if let Some(numbers) = self.witness.run(&self.sequence, &Take { count, least }).await? {
                self.metrics.used.increment(1);
                return Ok(of_range(numbers));
            }
            let until = self.table.take(self.sequence.name(), count.saturating_mul(BLOCKS)).await?;
            let from = until.saturating_sub(count.saturating_mul(BLOCKS));
            // Sent once. Without a reply the store may hand the range out, so this process uses no number of it.
            let highest = match self.witness.run(&self.sequence, &Load { from, until, count }).await? {
                Loaded::Taken(numbers) if numbers.start >= least => {
                    self.metrics.used.increment(1);
                    return Ok(of_range(numbers));
                }
                // The database was restored, and the witness is gone.
                Loaded::Taken(_) => least,
                Loaded::Occupied => continue,
                Loaded::Below(Below { witness }) => witness,
            };
            self.metrics.discarded.increment(1);
            self.go_on_above(highest, until).await?;
        }
        Err(self.is_outrun())
    }

    /// Takes blocks until one may be used.
    async fn fetch_own(&self, count: u64) -> Result<Block, IdError> {
        for _ in 0..ATTEMPTS {
            let until = self.table.take(self.sequence.name(), count).await?;
            let block = Block { from: until.saturating_sub(count), until };
            match self.highest_above(block).await? {
                None => {
                    self.metrics.used.increment(1);
                    return Ok(block);
                }
                Some(highest) => {
                    self.metrics.discarded.increment(1);
                    self.go_on_above(highest, until).await?;
                }
            }
        }
        Err(self.is_outrun())
    }

    fn is_outrun(&self) -> IdError {
        IdError::Invalid(format!(
            "sequence {:?}: each of {ATTEMPTS} blocks was below one that another process has used; use larger blocks",
            self.sequence.name()
        ))
    }

    /// The end of the blocks that were used, if this block is below it.
    async fn highest_above(&self, block: Block) -> Result<Option<u64>, IdError> {
        let own = self.buffer.lock().end();
        if block.from < own && guard("segments_rise") {
            return Ok(Some(own));
        }
        // Sent once: the block of a repeat would be refused. Without a reply the block is used, because no other process has it.
        match self.witness.run(&self.sequence, &Raise { from: block.from, until: block.until }).await {
            Ok(Ok(())) => Ok(None),
            Ok(Err(Below { witness })) => Ok(Some(witness)),
            Err(IdError::Link(error)) => {
                self.metrics.unwitnessed.increment(1);
                tracing::debug!(sequence = self.sequence.name(), %error, "a block of numbers has no witness");
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }

    /// Lets the sequence go on above the blocks that were used, if the database does not.
    async fn go_on_above(&self, highest: u64, until: u64) -> Result<(), IdError> {
        if until >= highest || !guard("segments_jump") {
            // Another process took a later block, and was faster.
            return Ok(());
        }
        let to = highest.saturating_add(JUMP);
        tracing::warn!(
            sequence = self.sequence.name(),
            until,
            highest,
            to,
            "the database is behind its witness: it was restored from an older state; the sequence goes on above"
        );
        self.table.jump(self.sequence.name(), to).await
    }
}

impl fmt::Debug for Segments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segments").field("sequence", &self.0.sequence.name()).finish_non_exhaustive()
    }
}
