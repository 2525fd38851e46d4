//! JSON: the default, because a value that an engineer can read in `redis-cli` at night is worth more than bytes.

use super::{Codec, CodecError};
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// JSON through serde.
///
/// Not for maps whose keys are not text, nor for floats that are not numbers (they come back as an error): use
/// [`MessagePack`](super::MessagePack) there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Json;

impl<V: Serialize + DeserializeOwned> Codec<V> for Json {
    fn id(&self) -> u8 {
        super::JSON
    }

    fn encode(&self, value: &V, out: &mut Vec<u8>) -> Result<(), CodecError> {
        serde_json::to_writer(out, value).map_err(|error| CodecError::encode("JSON", error))
    }

    fn decode(&self, bytes: Bytes) -> Result<V, CodecError> {
        read(&bytes)
    }

    fn decode_of(&self, codec: u8, bytes: &Bytes) -> Option<Result<V, CodecError>> {
        super::decode_serde(codec, bytes)
    }
}

pub(super) fn read<V: DeserializeOwned>(bytes: &[u8]) -> Result<V, CodecError> {
    serde_json::from_slice(bytes).map_err(|error| CodecError::decode("JSON", error))
}
