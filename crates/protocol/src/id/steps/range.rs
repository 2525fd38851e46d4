//! [`Take`] and [`Load`]: Redis hands out ranges that a database has committed.

use super::prelude::*;
use super::raise::Below;
use crate::id::witness::{NUMBER_MAX, Sequence, Witness};
use crate::step::Args;
use crate::step::reply::typed;
use std::ops::Range;

/// Takes numbers of the range that the server hands out. A repeat takes other numbers.
#[derive(Clone, Copy, Debug)]
pub struct Take {
    /// How many numbers, at most.
    pub count: u64,
    /// The least number that is taken; those below it are left out.
    pub least: u64,
}

/// Gives the server a range, and takes its first numbers. It is sent once: if the server is flushed meanwhile, a repeat hands its numbers out again.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The first number of the range.
    pub from: u64,
    /// The first number after it.
    pub until: u64,
    /// How many numbers are taken, at most.
    pub count: u64,
}

/// The reply to [`Load`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// The range is handed out from now on, and these numbers were taken.
    Taken(Range<u64>),
    /// Another range is not used up. This one is not handed out.
    Occupied,
    /// The range begins below the witness. It is not handed out.
    Below(Below),
}

impl Step<Sequence> for Take {
    /// `None`: there is no range, or it is used up, or it was given to another server.
    type Reply = Option<Range<u64>>;

    fn check(&self) -> Result<(), IdError> {
        checked(0..NUMBER_MAX, self.count)
    }

    fn call(&self, sequence: &Sequence) -> Call {
        let args = Args::default().number(self.count).number(self.least);
        Call::function_and(&scripts::TAKE, sequence.range(), args)
    }

    fn reply(&self, value: Value) -> Result<Option<Range<u64>>, IdError> {
        let (is_taken, from, until): (u8, u64, u64) = typed(value)?;
        Ok((is_taken == 1).then_some(from..until))
    }

    fn apply(&self, witness: &mut Witness, _: u64) -> Result<Option<Range<u64>>, IdError> {
        let range = &mut witness.range;
        if range.is_empty() {
            return Ok(None);
        }
        let mut from = range.start;
        if guard("model_id_range_rises") {
            from = from.max(self.least);
        }
        if from >= range.end {
            return Ok(None);
        }
        range.start = (from + self.count).min(range.end);
        Ok(Some(from..range.start))
    }
}

impl Step<Sequence> for Load {
    type Reply = Loaded;

    fn check(&self) -> Result<(), IdError> {
        checked(self.from..self.until, self.count)
    }

    fn call(&self, sequence: &Sequence) -> Call {
        let args = Args::default().number(self.from).number(self.until).number(self.count);
        Call::function_and(&scripts::LOAD, sequence.range(), args)
    }

    fn reply(&self, value: Value) -> Result<Loaded, IdError> {
        let (outcome, first, after): (i8, u64, u64) = typed(value)?;
        Ok(match outcome {
            1 => Loaded::Taken(first..after),
            0 => Loaded::Occupied,
            _ => Loaded::Below(Below { witness: first }),
        })
    }

    fn apply(&self, witness: &mut Witness, _: u64) -> Result<Loaded, IdError> {
        if self.from < witness.end && guard("model_id_range_above_witness") {
            return Ok(Loaded::Below(Below { witness: witness.end }));
        }
        if !witness.range.is_empty() && guard("model_id_range_used_up") {
            return Ok(Loaded::Occupied);
        }
        let after = (self.from + self.count).min(self.until);
        (witness.end, witness.range) = (self.until, after..self.until);
        Ok(Loaded::Taken(self.from..after))
    }
}

/// Rejects numbers that scripts cannot compute with, and calls that take none.
fn checked(range: Range<u64>, count: u64) -> Result<(), IdError> {
    if range.end > NUMBER_MAX || range.is_empty() || count == 0 || count > NUMBER_MAX {
        return Err(IdError::Invalid(format!(
            "{count} numbers of {} to {}; the limit is {NUMBER_MAX}",
            range.start, range.end
        )));
    }
    Ok(())
}
