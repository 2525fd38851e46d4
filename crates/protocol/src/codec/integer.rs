//! Integers as decimal text, as Redis itself writes them.

use super::Codec;
use super::error::CodecError;
use bytes::Bytes;
use std::io::Write;

/// Integers, encoded as decimal text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Integer;

macro_rules! integers {
    ($($int:ty),*) => {$(
        impl Codec<$int> for Integer {
            fn id(&self) -> u8 { super::INTEGER }

            fn encode(&self, value: &$int, out: &mut Vec<u8>) -> Result<(), CodecError> {
                write!(out, "{value}").map_err(|error| CodecError::encode("Integer", error))
            }

            fn decode(&self, bytes: Bytes) -> Result<$int, CodecError> {
                let text = std::str::from_utf8(&bytes).map_err(|error| CodecError::decode("Integer", error))?;
                text.parse().map_err(|error| CodecError::decode("Integer", error))
            }

            fn decode_of(&self, codec: u8, bytes: &Bytes) -> Option<Result<$int, CodecError>> {
                super::decode_serde(codec, bytes)
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);
