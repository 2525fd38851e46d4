//! MessagePack: smaller than JSON, and still by field name.

use super::{Codec, CodecError};
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// MessagePack through serde, structs as maps of field names, so that adding, removing or moving a field does not break a fleet in
/// which two versions of the program run at once (mark what is new with `#[serde(default)]`).
#[derive(Clone, Copy, Debug, Default)]
pub struct MessagePack;

impl<V: Serialize + DeserializeOwned> Codec<V> for MessagePack {
    fn id(&self) -> u8 {
        2
    }

    fn encode(&self, value: &V, out: &mut Vec<u8>) -> Result<(), CodecError> {
        rmp_serde::encode::write_named(out, value).map_err(|error| CodecError::encode("MessagePack", error))
    }

    fn decode(&self, bytes: Bytes) -> Result<V, CodecError> {
        rmp_serde::from_slice(&bytes).map_err(|error| CodecError::decode("MessagePack", error))
    }
}
