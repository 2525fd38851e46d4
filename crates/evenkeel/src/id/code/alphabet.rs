//! [`Alphabet`]: numbers in digits that a URL may have.

/// Digits in which numbers are written, the most significant first. The digits are in the order of their bytes, so texts of one width sort as
/// their numbers do.
///
/// ```
/// use evenkeel::id::Alphabet::{Base58, Base62};
///
/// assert_eq!(Base62.encode(3_844), "100");
/// assert_eq!(Base62.encode_padded(61, 7).as_deref(), Some("000000z"));
/// assert_eq!(Base58.decode("zz"), Some(3_363));
/// assert_eq!(Base58.decode("0O"), None); // Base58 has no 0, O, I and l
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alphabet {
    /// `0-9A-Za-z`.
    Base62,
    /// The same without `0`, `O`, `I` and `l`, which look alike: for texts that people type.
    Base58,
}

const BASE62: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE58: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

impl Alphabet {
    /// `number` in as few digits as possible, at most 11.
    #[must_use]
    pub fn encode(self, number: u64) -> String {
        let mut digits = Vec::with_capacity(11);
        let mut rest = number;
        loop {
            digits.push(self.digit(rest % self.base()));
            rest /= self.base();
            if rest == 0 {
                break;
            }
        }
        digits.iter().rev().map(|digit| char::from(*digit)).collect()
    }

    /// `number` in exactly `width` digits; `None` if it needs more. Texts of different widths differ, whatever their numbers.
    #[must_use]
    pub fn encode_padded(self, number: u64, width: u8) -> Option<String> {
        let text = self.encode(number);
        let missing = usize::from(width).checked_sub(text.len())?;
        let zero = char::from(self.digit(0));
        // The number 0 has one digit, so no width is without a digit.
        Some(std::iter::repeat_n(zero, missing).chain(text.chars()).collect())
    }

    /// The number that [`encode`](Self::encode) writes as `text`; `None` for any other text, such as one with leading zeros.
    #[must_use]
    pub fn decode(self, text: &str) -> Option<u64> {
        let number = self.value(text)?;
        (text.len() == 1 || text.as_bytes().first() != Some(&self.digit(0))).then_some(number)
    }

    /// The number that [`encode_padded`](Self::encode_padded) writes as `text` in `width` digits; `None` for any other text.
    #[must_use]
    pub fn decode_padded(self, text: &str, width: u8) -> Option<u64> {
        (text.len() == usize::from(width)).then(|| self.value(text)).flatten()
    }

    /// How many numbers have at most `width` digits; `None` if these are more than `u64::MAX`.
    #[must_use]
    pub fn numbers(self, width: u8) -> Option<u64> {
        self.base().checked_pow(width.into())
    }

    fn digits(self) -> &'static [u8] {
        match self {
            Self::Base62 => BASE62,
            Self::Base58 => BASE58,
        }
    }

    fn base(self) -> u64 {
        self.digits().len() as u64
    }

    fn digit(self, value: u64) -> u8 {
        usize::try_from(value).ok().and_then(|value| self.digits().get(value)).copied().unwrap_or(b'?')
    }

    fn value(self, text: &str) -> Option<u64> {
        if text.is_empty() {
            return None;
        }
        text.bytes().try_fold(0u64, |number, byte| {
            let digit = self.digits().iter().position(|known| *known == byte)?;
            number.checked_mul(self.base())?.checked_add(digit as u64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Alphabet::{self, Base58, Base62};

    const ALL: [Alphabet; 2] = [Base62, Base58];

    #[test]
    fn known_numbers_are_written_as_elsewhere() {
        assert_eq!(["0", "z", "10"].map(str::to_owned), [0, 61, 62].map(|number| Base62.encode(number)));
        assert_eq!(["1", "z", "21"].map(str::to_owned), [0, 57, 58].map(|number| Base58.encode(number)));
        assert_eq!(Base62.encode(u64::MAX), "LygHa16AHYF");
        assert_eq!(Base58.encode(u64::MAX), "jpXCZedGfVQ");
    }

    // shows: I6, id::Shuffle
    #[test]
    fn each_number_has_one_text_and_each_text_one_number() {
        for alphabet in ALL {
            let base = alphabet.digits().len() as u64;
            let near = |power: u64| [power - 1, power, power + 1];
            let powers = (1..=10).filter_map(|width| alphabet.numbers(width)).flat_map(near);
            for number in (0..base * base + 2).chain(powers).chain([u64::MAX - 1, u64::MAX]) {
                let text = alphabet.encode(number);
                assert_eq!(alphabet.decode(&text), Some(number), "{text}");
                for width in 0..=255u8 {
                    let padded = alphabet.encode_padded(number, width);
                    assert_eq!(padded.is_some(), usize::from(width) >= text.len());
                    let Some(padded) = padded else { continue };
                    assert_eq!(padded.len(), usize::from(width));
                    assert_eq!(alphabet.decode_padded(&padded, width), Some(number));
                    assert_eq!(alphabet.decode(&padded), (padded == text).then_some(number), "{padded}");
                }
            }
        }
    }

    #[test]
    fn other_texts_are_rejected() {
        for alphabet in ALL {
            for text in ["", "-", "a b", "é", "0O", "zzzzzzzzzzz", "AAAAAAAAAAAA", &"z".repeat(300)] {
                assert_eq!(alphabet.decode(text), None, "{alphabet:?} {text:?}");
                for width in [0, 1, 2, 11, 12, 255] {
                    let is_number = alphabet == Base62 && text == "0O" && width == 2;
                    assert_eq!(alphabet.decode_padded(text, width).is_some(), is_number, "{text:?} {width}");
                }
            }
        }
        assert_eq!((Base62.numbers(0), Base62.numbers(10), Base62.numbers(11)), (Some(1), Some(62u64.pow(10)), None));
        assert_eq!(Base58.numbers(255), None);
    }

    /// An index over texts of one width is an index over their numbers.
    #[test]
    fn padded_texts_sort_as_their_numbers() {
        for alphabet in ALL {
            let numbers = [0, 1, 57, 58, 61, 62, 63, 3_843, 3_844, 1 << 40, u64::MAX - 1, u64::MAX];
            let texts: Vec<_> = numbers.iter().filter_map(|number| alphabet.encode_padded(*number, 11)).collect();
            assert_eq!(texts.len(), numbers.len());
            assert!(texts.is_sorted(), "{texts:?}");
        }
    }
}
