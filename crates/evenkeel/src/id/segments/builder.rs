//! [`SegmentsBuilder`]: the settings of a sequence.

use super::Segments;
use super::table::Table;
use crate::id::snowflake::Scopes;
use crate::sql::Database;
use evenkeel_protocol::id::error::IdError;
use sqlx::Pool;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Larger blocks would waste too much of a sequence.
const COUNT_MAX: u64 = 1 << 20;

/// The settings of [`Segments`]. Every setting has a default; programs of one sequence may have different ones.
#[must_use = "a builder does nothing until `open`"]
#[derive(Clone)]
pub struct SegmentsBuilder {
    scopes: Scopes,
    name: String,
    counts: RangeInclusive<u64>,
    wait: Duration,
    is_shared: bool,
}

impl SegmentsBuilder {
    pub(crate) fn new(scopes: &Scopes, name: &str) -> Self {
        let wait = Duration::from_secs(10);
        Self { scopes: scopes.clone(), name: name.to_owned(), counts: 100..=100_000, wait, is_shared: false }
    }

    setters! {
        /// How many numbers a block has: the least and the most, between 1 and 1,048,576. It begins with the least; a block that lasted less than
        /// half a minute is followed by one twice as large, one that lasted more than two minutes by one half as large. Default 100 to
        /// 100,000.
        pub fn step(counts: RangeInclusive<u64>) => counts = counts;

        /// How long [`next`](Segments::next) waits for a block. Default 10 s.
        pub fn wait(wait: Duration) => wait = wait;

        /// Lets the store (Redis) hand the blocks out, from ranges of 16 blocks that the database has committed: all processes on it share a range, so
        /// they need fewer transactions and leave out fewer numbers when they end.
        ///
        /// Guaranteed: as without it. A range is bound to the server that was given it and to its history, so a promoted replica, a restarted or a
        /// flushed server hands out none of it; while Redis is away, blocks come from the database.
        ///
        /// Not guaranteed: that the rest of a range is used after the server was lost, or a range of which the reply was lost.
        pub fn via_redis() => is_shared = true;
    }

    /// Opens the sequence in the database of `pool`, on which [`migrate`](crate::sql::migrate) must have run. Nothing is sent before the first
    /// number is requested. A block is taken in a transaction of its own, on a connection of the pool.
    ///
    /// # Errors
    /// [`IdError::Invalid`]: the name or the size of blocks.
    pub fn open<DB: Database>(self, pool: &Pool<DB>) -> Result<Segments, IdError> {
        let Self { scopes, name, counts, wait, is_shared } = self;
        let sequence = scopes.witnesses.sequence(&name)?;
        if *counts.start() == 0 || *counts.end() > COUNT_MAX || counts.is_empty() {
            return Err(IdError::Invalid(format!(
                "blocks of {counts:?} numbers; 1 to {COUNT_MAX} are possible, the least first"
            )));
        }
        let table = Table(DB::erased(pool));
        Ok(Segments::new(sequence, table, scopes.witnesses, scopes.clock, counts, wait, is_shared))
    }
}
