//! `X-Short-ID`: eight characters that name one request through logs and answers.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use std::fmt;

/// The header that carries it, in requests and in answers.
pub static X_SHORT_ID: HeaderName = HeaderName::from_static("x-short-id");

const CHARACTERS: usize = 8;

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ALPHABET_LEN: u64 = ALPHABET.len() as u64;

/// The name of one request. A caller may choose it, so that one name runs through several services; it is taken only if it has
/// exactly eight letters or digits, so nobody writes into our log through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortId([u8; CHARACTERS]);

impl ShortId {
    /// The caller's choice, or a new one.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
        headers.get(&X_SHORT_ID).and_then(|value| Self::parse(value.as_bytes())).unwrap_or_else(Self::random)
    }

    /// As a header of the answer.
    #[must_use]
    pub fn header(self) -> HeaderValue {
        HeaderValue::from_bytes(&self.0).unwrap_or(HeaderValue::from_static("invalid0"))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; CHARACTERS] = bytes.try_into().ok()?;
        bytes.iter().all(u8::is_ascii_alphanumeric).then_some(ShortId(bytes))
    }

    fn random() -> Self {
        // One draw has more than the 48 bits that eight of 62 characters take.
        let mut bits: u64 = rand::random();
        ShortId(std::array::from_fn(|_| {
            let (rest, place) = (bits / ALPHABET_LEN, bits % ALPHABET_LEN);
            bits = rest;
            usize::try_from(place).ok().and_then(|place| ALPHABET.get(place).copied()).unwrap_or(b'0')
        }))
    }
}

impl fmt::Display for ShortId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.0).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(X_SHORT_ID.clone(), HeaderValue::from_static(value))])
    }

    #[test]
    fn a_well_formed_choice_is_kept() {
        assert_eq!(ShortId::of(&headers("a1B2c3D4")).to_string(), "a1B2c3D4");
    }

    #[test]
    fn anything_else_is_replaced_by_eight_letters_or_digits() {
        for refused in ["", "short", "ninechars", "with spc", "semi;col", "a1B2c3D\t"] {
            let id = ShortId::of(&headers(refused)).to_string();
            assert_ne!(id, refused);
            assert_eq!(id.len(), 8);
            assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
        }
        assert_eq!(ShortId::of(&HeaderMap::new()).to_string().len(), 8);
    }
}
