//! [`Raise`]: the witness is raised to the end of a block.

use super::prelude::*;
use crate::id::witness::{NUMBER_MAX, Sequence, Witness};
use crate::step::Args;
use crate::step::reply::typed;

/// Raises the witness to the end of a block, before the block is used. A block that begins below the witness is refused: the database was restored
/// from an older state, or another process has taken a later block and was faster. It is sent once: a repeat is refused.
#[derive(Clone, Copy, Debug)]
pub struct Raise {
    /// The first number of the block.
    pub from: u64,
    /// The first number after it.
    pub until: u64,
}

/// The witness is above the beginning of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Below {
    /// The witness.
    pub witness: u64,
}

impl Step<Sequence> for Raise {
    type Reply = Result<(), Below>;

    fn check(&self) -> Result<(), IdError> {
        if self.until > NUMBER_MAX || self.from >= self.until {
            return Err(IdError::Invalid(format!(
                "the sequence is used up at {}: the limit is {NUMBER_MAX}",
                self.from
            )));
        }
        Ok(())
    }

    fn call(&self, _: &Sequence) -> Call {
        Call::function(&scripts::RAISE, Args::default().number(self.from).number(self.until))
    }

    fn reply(&self, value: Value) -> Result<Result<(), Below>, IdError> {
        let (is_raised, witness): (u8, u64) = typed(value)?;
        Ok(if is_raised == 1 { Ok(()) } else { Err(Below { witness }) })
    }

    fn apply(&self, witness: &mut Witness, _: u64) -> Result<Result<(), Below>, IdError> {
        if self.from < witness.end && guard("model_id_witness_refuses") {
            return Ok(Err(Below { witness: witness.end }));
        }
        witness.end = self.until;
        Ok(Ok(()))
    }
}
