//! Short codes: a sequence number goes through a keyed permutation and comes out as seven Base62 characters.
//!
//! The sequence makes codes unique without a lookup. The permutation hides the order, so that codes cannot be enumerated ("Gone in
//! Six Characters", arXiv 1604.02734, enumerated short random codes). Codes are unique only under one key, so the key is stored in
//! the database (see [`crate::store`]). Permutation and alphabet are the library's, which never change.

use crate::domain::Code;
use evenkeel::id::Alphabet::Base62;
use evenkeel::id::{Shuffle, ShuffleKey};
use web::{from_hex, hex};

/// Characters of a generated code.
pub const CODE_CHARACTERS: u8 = 7;

/// The number of generated codes: 62^7, about 3.5 trillion.
pub const CODES: u64 = 62u64.pow(CODE_CHARACTERS as u32);

/// The key of the codes. It is stored in the database only, because it allows enumerating them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(ShuffleKey);

impl Key {
    /// A random key.
    #[must_use]
    pub fn random() -> Self {
        Self(ShuffleKey::random())
    }

    /// The stored form: 64 hexadecimal digits.
    #[must_use]
    pub fn to_hex(&self) -> String {
        hex(self.0.as_bytes())
    }

    /// Parses the output of [`Key::to_hex`]; `None` for anything else.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        Some(Self::from(<[u8; 32]>::try_from(from_hex(text)?).ok()?))
    }
}

impl From<[u8; 32]> for Key {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes.into())
    }
}

/// Turns sequence numbers into codes.
#[derive(Clone, Debug)]
pub struct CodeGenerator(Shuffle);

impl CodeGenerator {
    /// The generator for `key`. The same key generates the same codes.
    #[must_use]
    pub fn new(key: Key) -> Self {
        Self(Shuffle::new(key.0, CODES))
    }

    /// The code of `number`; `None` if the code would be a reserved word (take the next number) or `number` is not below [`CODES`].
    #[must_use]
    pub fn code(&self, number: u64) -> Option<Code> {
        let shuffled = self.0.apply(number)?;
        Code::alias(&Base62.encode_padded(shuffled, CODE_CHARACTERS)?).ok()
    }

    /// The number of a generated code; `None` for any other code.
    #[must_use]
    pub fn number(&self, code: &Code) -> Option<u64> {
        self.0.invert(Base62.decode_padded(code.as_str(), CODE_CHARACTERS)?)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::{CODES, CodeGenerator, Key};
    use crate::domain::Code;

    /// Links that were made before an upgrade would collide with those made after it. These codes are from the time at which the permutation and
    /// the digits were in this crate.
    #[test]
    fn codes_of_a_key_never_change() {
        let numbers = [0, 1, 2, 3, 1_000_000, CODES - 1];
        for (seed, codes) in [
            ("2a", ["aWml6f7", "ng2tuhc", "wuAhAPX", "BjzVBlp", "qwNBhJj", "FuPubwr"]),
            ("07", ["1cy8mq5", "te2N7RI", "oTKvKdr", "DI2gGa3", "xmnY5X3", "Hekgn2n"]),
        ] {
            let generator = CodeGenerator::new(Key::from_hex(&seed.repeat(32)).unwrap());
            for (number, code) in numbers.into_iter().zip(codes) {
                let code = Code::alias(code).unwrap();
                assert_eq!((generator.code(number), generator.number(&code)), (Some(code), Some(number)));
            }
        }
    }

    #[test]
    fn numbers_and_texts_that_are_no_codes_are_rejected() {
        let generator = CodeGenerator::new(Key::random());
        assert_eq!(generator.code(CODES), None);
        for text in ["abcdef", "abcdefgh", "abc-def"] {
            assert_eq!(generator.number(&Code::alias(text).unwrap()), None, "{text}");
        }
    }

    #[test]
    fn key_round_trips_as_hex_and_is_hidden_in_debug() {
        let key = Key::random();
        assert_eq!(Key::from_hex(&key.to_hex()), Some(key.clone()));
        assert_eq!(Key::from_hex("00"), None);
        assert_eq!(Key::from_hex(&"zz".repeat(32)), None);
        assert!(!format!("{key:?}").contains(&key.to_hex()[..8]), "a key must not end up in a log");
    }
}
