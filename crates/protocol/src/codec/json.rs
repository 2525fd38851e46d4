//! JSON: the default, because values are then readable in `redis-cli`.

use super::Codec;
use super::error::CodecError;
use super::finite::Finite;
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// JSON through serde.
///
/// Not for maps whose keys are tuples, structs or sequences, nor for floats that are NaN or infinite: encoding such a value is an
/// error; `MessagePack` accepts it. `Some(None)` and `None` are both `null`, in JSON as in MessagePack: where the
/// difference matters, use an enum.
#[derive(Clone, Copy, Debug, Default)]
pub struct Json;

impl<V: Serialize + DeserializeOwned> Codec<V> for Json {
    fn id(&self) -> u8 {
        super::JSON
    }

    fn encode(&self, value: &V, out: &mut Vec<u8>) -> Result<(), CodecError> {
        serde_json::to_writer(out, &Finite(value)).map_err(|error| CodecError::encode("JSON", error))
    }

    fn decode(&self, bytes: Bytes) -> Result<V, CodecError> {
        read(&bytes)
    }

    fn decode_of(&self, codec: u8, bytes: &Bytes) -> Option<Result<V, CodecError>> {
        super::decode_serde(codec, bytes)
    }
}

pub(crate) fn read<V: DeserializeOwned>(bytes: &[u8]) -> Result<V, CodecError> {
    serde_json::from_slice(bytes).map_err(|error| CodecError::decode("JSON", error))
}
