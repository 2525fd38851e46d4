//! [`ShortId`]: the request id in logs and in the header `X-Short-ID`.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use std::fmt;

/// The header of the request id, in requests and responses.
pub static X_SHORT_ID: HeaderName = HeaderName::from_static("x-short-id");

const CHARACTERS: usize = 8;

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ALPHABET_LEN: u64 = ALPHABET.len() as u64;

/// The id of one request: eight letters or digits. A client may send one, so that a request has the same id in several services;
/// an id of any other form is replaced, which prevents log injection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortId([u8; CHARACTERS]);

impl ShortId {
    /// The id that the client sent, if it is valid, or a random one.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
        headers.get(&X_SHORT_ID).and_then(|value| Self::parse(value.as_bytes())).unwrap_or_else(Self::random)
    }

    /// The value of the response header.
    #[must_use]
    pub fn header(self) -> HeaderValue {
        HeaderValue::from_bytes(&self.0).unwrap_or(HeaderValue::from_static("invalid0"))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; CHARACTERS] = bytes.try_into().ok()?;
        bytes.iter().all(u8::is_ascii_alphanumeric).then_some(ShortId(bytes))
    }

    fn random() -> Self {
        // Eight of 62 characters need 48 bits.
        let mut bits: u64 = rand::random();
        ShortId(std::array::from_fn(|_| {
            let (rest, index) = (bits / ALPHABET_LEN, bits % ALPHABET_LEN);
            bits = rest;
            usize::try_from(index).ok().and_then(|index| ALPHABET.get(index).copied()).unwrap_or(b'0')
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
    fn valid_request_id_is_used() {
        assert_eq!(ShortId::of(&headers("a1B2c3D4")).to_string(), "a1B2c3D4");
    }

    #[test]
    fn invalid_request_id_is_replaced() {
        for invalid in ["", "short", "ninechars", "with spc", "semi;col", "a1B2c3D\t"] {
            let id = ShortId::of(&headers(invalid)).to_string();
            assert_ne!(id, invalid);
            assert_eq!(id.len(), 8);
            assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
        }
        assert_eq!(ShortId::of(&HeaderMap::new()).to_string().len(), 8);
    }
}
