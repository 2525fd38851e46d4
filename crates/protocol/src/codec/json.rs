//! JSON: the default, because values are then readable in `redis-cli`.

use super::Codec;
use super::error::CodecError;
use super::finite::Finite;
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::ser::Formatter;
use std::io::{self, Write};

/// JSON through serde.
///
/// Not for maps whose keys are tuples, structs or sequences, nor for floats that are NaN or infinite: encoding such a value is an
/// error; `MessagePack` accepts it. Neither for values that are nested more than 127 levels deep, which cannot be decoded. `Some(None)` and `None` are both `null`, in JSON as in MessagePack: where the
/// difference matters, use an enum. Serde cannot decode a map whose keys are numbers inside an enum with `#[serde(tag = ..)]`, and decodes a
/// value of an enum with `#[serde(untagged)]` as its first variant that fits; queues and streams reject a value that is not decoded, or that is
/// another one then, in debug builds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Json;

impl<V: Serialize + DeserializeOwned> Codec<V> for Json {
    fn id(&self) -> u8 {
        super::JSON
    }

    fn encode(&self, value: &V, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let mut to = serde_json::Serializer::with_formatter(out, Shallow::default());
        Finite(value).serialize(&mut to).map_err(|error| CodecError::encode("JSON", error))
    }

    fn decode(&self, bytes: Bytes) -> Result<V, CodecError> {
        read(&bytes)
    }

    fn decode_of(&self, codec: u8, bytes: &Bytes) -> Option<Result<V, CodecError>> {
        super::decode_serde(codec, bytes)
    }
}

/// The levels of arrays and objects that `serde_json` decodes.
const LEVELS_MAX: u32 = 127;

/// Writes JSON without spaces; rejects what is nested too deep to be decoded.
#[derive(Default)]
struct Shallow {
    levels: u32,
}

impl Shallow {
    fn enter(&mut self) -> io::Result<()> {
        self.levels += 1;
        if self.levels > LEVELS_MAX {
            return Err(io::Error::other("it is nested more than 127 levels deep, and could not be decoded"));
        }
        Ok(())
    }
}

impl Formatter for Shallow {
    fn begin_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter()?;
        writer.write_all(b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.levels -= 1;
        writer.write_all(b"]")
    }

    fn begin_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter()?;
        writer.write_all(b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.levels -= 1;
        writer.write_all(b"}")
    }
}

pub(crate) fn read<V: DeserializeOwned>(bytes: &[u8]) -> Result<V, CodecError> {
    serde_json::from_slice(bytes).map_err(|error| CodecError::decode("JSON", error))
}
