//! [`Sequence`]: a witness of what a database has committed, which notices a database that was restored from an older state; and the range of
//! numbers that the store hands out.

use super::backend::checked_name;
use super::error::IdError;
use crate::step::{Backend, Place};
use evenkeel_link::Link;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// A store of witnesses, which runs the steps. Cheap to clone.
pub type WitnessBackend = Backend<Sequence>;

/// The numbers above this are not issued: scripts compute with 53 bits.
pub const NUMBER_MAX: u64 = (1 << 53) - 1;

const WITNESS: &str = ":witness";
const RANGE: &str = ":range";

/// The witness of a sequence. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence {
    name: Arc<str>,
    key: Arc<str>,
}

/// What the store has of a sequence.
#[derive(Clone, Debug, Default)]
pub struct Witness {
    /// The end of the highest block that was used; 0 if there is none.
    pub(crate) end: u64,
    /// What it hands out.
    pub(crate) range: Range<u64>,
}

impl Sequence {
    /// The sequence called `name` in the namespace `prefix`.
    ///
    /// # Errors
    /// [`IdError::Invalid`] unless the name has 1 to 64 letters, digits, `-`, `_` or `.`.
    pub fn new(prefix: &str, name: &str) -> Result<Self, IdError> {
        let name = checked_name("sequence", name)?;
        Ok(Self { key: format!("{{{prefix}:i:{name}}}{WITNESS}").into(), name })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The key of the range that the store hands out.
    pub(crate) fn range(&self) -> String {
        format!("{}{RANGE}", self.key.trim_end_matches(WITNESS))
    }
}

impl Place for Sequence {
    type State = Witness;
    type States = HashMap<Sequence, Witness>;
    type Error = IdError;
    type Shared = ();

    fn key(&self) -> &[u8] {
        self.key.as_bytes()
    }

    fn open<'a>(&self, witnesses: &'a mut Self::States, _: u64) -> &'a mut Witness {
        witnesses.entry(self.clone()).or_default()
    }

    fn wakes(_: &mut Witness) -> bool {
        false
    }
}

impl WitnessBackend {
    /// The witness of the sequence of this name.
    ///
    /// # Errors
    /// As [`Sequence::new`].
    pub fn sequence(&self, name: &str) -> Result<Sequence, IdError> {
        Sequence::new(self.link().map_or("", Link::prefix), name)
    }
}
