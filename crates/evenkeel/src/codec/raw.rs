//! Bytes and text as they are.

use super::{Codec, CodecError};
use bytes::Bytes;

/// Bytes and text as they are. [`Bytes`] are not copied when they are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Raw;

impl Codec<Bytes> for Raw {
    fn id(&self) -> u8 {
        4
    }

    fn encode(&self, value: &Bytes, out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.extend_from_slice(value);
        Ok(())
    }

    fn decode(&self, bytes: Bytes) -> Result<Bytes, CodecError> {
        Ok(bytes)
    }
}

impl Codec<Vec<u8>> for Raw {
    fn id(&self) -> u8 {
        4
    }

    fn encode(&self, value: &Vec<u8>, out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.extend_from_slice(value);
        Ok(())
    }

    fn decode(&self, bytes: Bytes) -> Result<Vec<u8>, CodecError> {
        Ok(bytes.into())
    }
}

impl Codec<String> for Raw {
    fn id(&self) -> u8 {
        4
    }

    fn encode(&self, value: &String, out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.extend_from_slice(value.as_bytes());
        Ok(())
    }

    fn decode(&self, bytes: Bytes) -> Result<String, CodecError> {
        String::from_utf8(bytes.into()).map_err(|error| CodecError::decode("Raw", error))
    }
}
