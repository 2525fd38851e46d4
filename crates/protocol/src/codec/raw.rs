//! Bytes and text, unchanged.

use super::Codec;
use super::error::CodecError;
use bytes::Bytes;
use serde::de::value::{BytesDeserializer, Error, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};

/// Bytes and text, unchanged. Decoding [`Bytes`] does not copy them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Raw;

impl Codec<Bytes> for Raw {
    fn id(&self) -> u8 {
        super::RAW
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
        super::RAW
    }

    fn encode(&self, value: &Vec<u8>, out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.extend_from_slice(value);
        Ok(())
    }

    fn decode(&self, bytes: Bytes) -> Result<Vec<u8>, CodecError> {
        Ok(bytes.into())
    }

    fn decode_of(&self, codec: u8, bytes: &Bytes) -> Option<Result<Vec<u8>, CodecError>> {
        super::decode_serde(codec, bytes)
    }
}

impl Codec<String> for Raw {
    fn id(&self) -> u8 {
        super::RAW
    }

    fn encode(&self, value: &String, out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.extend_from_slice(value.as_bytes());
        Ok(())
    }

    fn decode(&self, bytes: Bytes) -> Result<String, CodecError> {
        String::from_utf8(bytes.into()).map_err(|error| CodecError::decode("Raw", error))
    }

    fn decode_of(&self, codec: u8, bytes: &Bytes) -> Option<Result<String, CodecError>> {
        super::decode_serde(codec, bytes)
    }
}

/// Decodes text, or bytes that are not UTF-8, as a single serde value.
pub(crate) fn read<V: DeserializeOwned>(bytes: &[u8]) -> Result<V, CodecError> {
    let read = match std::str::from_utf8(bytes) {
        Ok(text) => {
            let text: StrDeserializer<'_, Error> = text.into_deserializer();
            V::deserialize(text)
        }
        Err(_) => V::deserialize(BytesDeserializer::<Error>::new(bytes)),
    };
    read.map_err(|error| CodecError::decode("Raw", error))
}
