//! The key of an entry in the near cache. A short key is stored in the table itself, so that a lookup follows no pointer, and
//! is hashed and compared as a few numbers. A numeric key need not be encoded at all.

use crate::cache::key::{CacheKey, KeyBytes};
use quick_cache::Equivalent;
use std::hash::{Hash, Hasher};

/// Bytes of a key that is stored in the table. With its length it takes no more space than the pointer to a longer one.
const SHORT_MAX: usize = 20;

/// Digits of the largest number.
const DIGITS_MAX: usize = 20;

/// A key in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The decimal digits of a number, in whichever type the key had them.
    Number(u64),
    /// The fields of a [`Short`], inlined: the padding after its length then holds the discriminant.
    Short {
        words: [u64; 2],
        rest: u32,
        length: u8,
    },
    Long(Box<[u8]>),
}

/// The forms in which a key can be looked up.
pub(crate) trait Lookup: Copy + Hash + Equivalent<Slot> {}

impl<Q: Copy + Hash + Equivalent<Slot>> Lookup for Q {}

/// A key that is known to be a number; its lookup has no further branches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number(pub(crate) u64);

/// A borrowed key for a lookup.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SlotRef<'a> {
    Number(u64),
    Short(Short),
    Long(&'a [u8]),
}

/// The bytes of a key, padded with zeros, and its length: a key with trailing zeros differs from one without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short {
    words: [u64; 2],
    rest: u32,
    length: u8,
}

impl<'a> SlotRef<'a> {
    /// Calls `look` with the lookup form of a reader's key, which is encoded only if it is not a number.
    #[inline]
    pub(crate) fn with<K: CacheKey + ?Sized, R>(key: &K, look: impl FnOnce(SlotRef<'_>) -> R) -> R {
        match key.number() {
            Some(number) => look(SlotRef::Number(number)),
            None => look(SlotRef::of(&KeyBytes::new(key))),
        }
    }

    /// The lookup form of an encoded key.
    #[inline]
    pub(crate) fn of(key: &'a KeyBytes) -> Self {
        if let Some(number) = number(key.as_slice()) {
            return Self::Number(number);
        }
        match key.padded::<SHORT_MAX>() {
            Some((bytes, length)) => Self::Short(Short::new(bytes, length)),
            None => Self::Long(key.as_slice()),
        }
    }
}

impl<'a> From<&'a [u8]> for SlotRef<'a> {
    fn from(key: &'a [u8]) -> Self {
        if let Some(number) = number(key) {
            return Self::Number(number);
        }
        let mut bytes = [0; SHORT_MAX];
        match bytes.get_mut(..key.len()) {
            Some(front) => {
                front.copy_from_slice(key);
                Self::Short(Short::new(&bytes, key.len()))
            }
            None => Self::Long(key),
        }
    }
}

/// The number with exactly these decimal digits: `007` is not the key of seven.
#[inline]
fn number(digits: &[u8]) -> Option<u64> {
    match digits {
        [b'0'] => Some(0),
        [b'1'..=b'9', rest @ ..] if rest.len() < DIGITS_MAX => digits.iter().try_fold(0_u64, |number, digit| {
            let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
            number.checked_mul(10)?.checked_add(digit)
        }),
        _ => None,
    }
}

impl Short {
    #[inline]
    fn new(bytes: &[u8; SHORT_MAX], length: usize) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, rest @ ..] = *bytes;
        let words = [u64::from_le_bytes([a, b, c, d, e, f, g, h]), u64::from_le_bytes([i, j, k, l, m, n, o, p])];
        Self { words, rest: u32::from_le_bytes(rest), length: u8::try_from(length).unwrap_or(u8::MAX) }
    }
}

impl From<SlotRef<'_>> for Slot {
    fn from(key: SlotRef<'_>) -> Self {
        match key {
            SlotRef::Number(number) => Self::Number(number),
            SlotRef::Short(Short { words, rest, length }) => Self::Short { words, rest, length },
            SlotRef::Long(bytes) => Self::Long(bytes.into()),
        }
    }
}

impl Equivalent<Slot> for Number {
    #[inline]
    fn equivalent(&self, slot: &Slot) -> bool {
        matches!(slot, Slot::Number(other) if *other == self.0)
    }
}

impl Equivalent<Slot> for SlotRef<'_> {
    #[inline]
    fn equivalent(&self, slot: &Slot) -> bool {
        match (self, slot) {
            (Self::Number(own), Slot::Number(other)) => own == other,
            (Self::Short(own), Slot::Short { words, rest, length }) => {
                (own.words, own.rest, own.length) == (*words, *rest, *length)
            }
            (Self::Long(own), Slot::Long(other)) => *own == &**other,
            _ => false,
        }
    }
}

// All implemented by hand, because a lookup form must hash like the key in the table.
impl Hash for Number {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0);
    }
}

impl Hash for SlotRef<'_> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Number(number) => state.write_u64(*number),
            Self::Short(short) => short.hash(state),
            Self::Long(bytes) => state.write(bytes),
        }
    }
}

impl Hash for Slot {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Number(number) => state.write_u64(*number),
            Self::Short { words, rest, length } => {
                Short { words: *words, rest: *rest, length: *length }.hash(state);
            }
            Self::Long(bytes) => SlotRef::Long(bytes).hash(state),
        }
    }
}

impl Hash for Short {
    /// Without the length: a collision of two keys that differ by trailing zeros costs less than hashing it.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.words[0]);
        state.write_u64(self.words[1]);
        if self.rest != 0 {
            state.write_u32(self.rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Number, SHORT_MAX, Slot, SlotRef};
    use crate::cache::key::KeyBytes;
    use quick_cache::Equivalent;
    use std::hash::BuildHasher;

    fn of_text(text: &str) -> Slot {
        SlotRef::of(&KeyBytes::new(text)).into()
    }

    /// A key comes from a reader that encoded it, or from a push message that names it.
    #[test]
    fn key_is_found_in_both_forms() {
        let hasher = quick_cache::DefaultHashBuilder::default();
        for length in [1, 7, 8, 15, 16, 17, 19, 20, 21, 64, 65, 500] {
            let text = "k".repeat(length);
            let (key, pushed) = (KeyBytes::new(text.as_str()), SlotRef::from(text.as_bytes()));
            let slot = Slot::from(pushed);
            assert!(SlotRef::of(&key).equivalent(&slot) && pushed.equivalent(&slot), "{length}");
            assert_eq!(hasher.hash_one(SlotRef::of(&key)), hasher.hash_one(&slot), "{length}");
            assert_eq!(hasher.hash_one(pushed), hasher.hash_one(&slot), "{length}");
        }
    }

    /// `"42"` and `42` are one entry in the store, and a push message names it by its digits.
    #[test]
    fn number_and_text_forms_of_a_key_are_equal() {
        let hasher = quick_cache::DefaultHashBuilder::default();
        for (text, key) in [("0", 0_u64), ("7", 7), ("18446744073709551615", u64::MAX)] {
            for slot in [of_text(text), SlotRef::from(text.as_bytes()).into(), SlotRef::with(&key, |slot| slot.into())]
            {
                assert_eq!(slot, Slot::Number(key), "{text}");
                assert!(Number(key).equivalent(&slot) && !Number(key ^ 1).equivalent(&slot), "{text}");
                assert_eq!(hasher.hash_one(Number(key)), hasher.hash_one(&slot), "{text}");
            }
        }
        for text in
            ["", "00", "007", "+7", "-7", "7a", "18446744073709551616", "99999999999999999999", "184467440737095516150"]
        {
            assert!(!matches!(of_text(text), Slot::Number(_)), "{text}");
            assert_eq!(of_text(text), SlotRef::from(of_text_bytes(text).as_slice()).into(), "{text}");
        }
        let below = SlotRef::with(&-7_i64, |slot| Slot::from(slot));
        assert_eq!(below, of_text("-7"));
    }

    fn of_text_bytes(text: &str) -> Vec<u8> {
        KeyBytes::new(text).as_slice().to_vec()
    }

    #[test]
    fn slot_has_its_documented_size() {
        assert_eq!(size_of::<Slot>(), 24);
    }

    #[test]
    fn trailing_zeros_of_a_key_count() {
        let longest = "a".repeat(SHORT_MAX);
        let texts = [
            "",
            "\0",
            "a",
            "a\0",
            "a\0\0",
            &longest,
            &longest[1..],
            &format!("{}\0", &longest[1..]),
            &format!("{longest}\0"),
        ];
        for (at, one) in texts.iter().enumerate() {
            for other in &texts[at + 1..] {
                assert_ne!(of_text(one), of_text(other), "{one:?} {other:?}");
                assert!(!SlotRef::from(one.as_bytes()).equivalent(&SlotRef::from(other.as_bytes()).into()));
            }
        }
    }
}
