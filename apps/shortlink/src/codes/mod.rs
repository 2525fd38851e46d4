//! Short codes: a sequence number goes through a keyed permutation and comes out as seven Base62 characters.
//!
//! The sequence makes codes unique without a lookup. The permutation hides the order, so that codes cannot be enumerated ("Gone in
//! Six Characters", arXiv 1604.02734, enumerated short random codes). Codes are unique only under one key, so the key is stored in
//! the database (see [`crate::store`]).

mod base62;
mod permutation;

pub use permutation::{Key, Permutation};

use crate::domain::Code;

/// Characters of a generated code.
pub const CODE_CHARACTERS: u32 = 7;

/// The number of generated codes: 62^7, about 3.5 trillion.
pub const CODES: u64 = 62u64.pow(CODE_CHARACTERS);

/// Turns sequence numbers into codes.
#[derive(Clone, Debug)]
pub struct CodeGenerator(Permutation);

impl CodeGenerator {
    /// The generator for `key`. The same key generates the same codes.
    #[must_use]
    pub fn new(key: Key) -> Self {
        Self(Permutation::new(key, CODES))
    }

    /// The code of `number`; `None` if the code would be a reserved word (take the next number) or `number` is not below [`CODES`].
    #[must_use]
    pub fn code(&self, number: u64) -> Option<Code> {
        let shuffled = self.0.apply(number)?;
        Code::alias(&base62::encode(shuffled, CODE_CHARACTERS)).ok()
    }

    /// The number of a generated code; `None` for any other code.
    #[must_use]
    pub fn number(&self, code: &Code) -> Option<u64> {
        self.0.invert(base62::decode(code.as_str(), CODE_CHARACTERS)?)
    }
}
