//! MessagePack with field names: more compact than JSON.

use super::Codec;
use super::error::CodecError;
use bytes::Bytes;
use evenkeel_link::support::guard;
use rmp_serde::Deserializer;
use rmp_serde::decode::Error;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;

/// MessagePack through serde. Structs are maps of field names, so that adding, removing or moving a field is compatible with a fleet
/// that runs two versions of the program at once (mark new fields with `#[serde(default)]`).
///
/// `Some(None)` is decoded as `None`: both are nil. Where the difference matters, use an enum.
#[derive(Clone, Copy, Debug, Default)]
pub struct MessagePack;

impl<V: Serialize + DeserializeOwned> Codec<V> for MessagePack {
    fn id(&self) -> u8 {
        super::MESSAGE_PACK
    }

    fn encode(&self, value: &V, out: &mut Vec<u8>) -> Result<(), CodecError> {
        rmp_serde::encode::write_named(out, value).map_err(|error| CodecError::encode("MessagePack", error))
    }

    fn decode(&self, bytes: Bytes) -> Result<V, CodecError> {
        read(&bytes)
    }

    fn decode_of(&self, codec: u8, bytes: &Bytes) -> Option<Result<V, CodecError>> {
        super::decode_serde(codec, bytes)
    }
}

pub(crate) fn read<V: DeserializeOwned>(bytes: &[u8]) -> Result<V, CodecError> {
    let failed = |error| CodecError::decode("MessagePack", error);
    let mut values = Deserializer::from_read_ref(bytes);
    let value = V::deserialize(&mut values).map_err(failed)?;
    match IgnoredAny::deserialize(&mut values) {
        Err(Error::InvalidMarkerRead(error)) if error.kind() == ErrorKind::UnexpectedEof => Ok(value),
        _ if !guard("codec_trailing_bytes") => Ok(value),
        _ => Err(CodecError::decode("MessagePack", "more bytes follow the value")),
    }
}
