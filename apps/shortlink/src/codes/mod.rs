//! Short codes: a sequence number goes through a keyed permutation and comes out as seven Base62 characters.
//!
//! The sequence makes codes unique without asking anybody; the permutation makes neighbours unrecognisable, so that codes
//! cannot be walked ("Gone in Six Characters", arXiv 1604.02734, did that to services with short random codes). Reusing the
//! permutation's key is what keeps codes unique, so the key lives in the database (see [`crate::store`]).

mod base62;
mod permutation;

pub use permutation::{Key, Permutation};

use crate::domain::Code;

/// How many characters a generated code has.
pub const CODE_CHARACTERS: u32 = 7;

/// How many generated codes there are: 62^7, about 3.5 million million.
pub const CODES: u64 = 62u64.pow(CODE_CHARACTERS);

/// Turns numbers of a sequence into codes.
#[derive(Clone, Debug)]
pub struct CodeMaker(Permutation);

impl CodeMaker {
    /// The maker for `key`. The same key makes the same codes.
    #[must_use]
    pub fn new(key: Key) -> Self {
        Self(Permutation::new(key, CODES))
    }

    /// The code of `number`; `None` when the numbers are used up ([`CODES`]), or where the code would be a reserved word: take
    /// the next number.
    #[must_use]
    pub fn code(&self, number: u64) -> Option<Code> {
        let shuffled = self.0.apply(number)?;
        Code::alias(&base62::encode(shuffled, CODE_CHARACTERS)).ok()
    }

    /// The number a generated code came from; `None` for a text that is no generated code.
    #[must_use]
    pub fn number(&self, code: &Code) -> Option<u64> {
        self.0.invert(base62::decode(code.as_str(), CODE_CHARACTERS)?)
    }
}
