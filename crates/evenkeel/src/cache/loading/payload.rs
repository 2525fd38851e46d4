//! The payload of an entry: codec, compression, and the limit of the decompressed size.

use super::user_code::catch_panic;
use bytes::Bytes;
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::header;
use evenkeel_protocol::codec::Codec;
use evenkeel_protocol::codec::error::CodecError;
use std::sync::Arc;

/// The compression number in an entry's header.
const PLAIN: u8 = 0;
const LZ4: u8 = 1;
/// An LZ4 payload begins with its decompressed length.
const LZ4_PREFIX_LEN: usize = 4;
/// Encoded values of up to this many bytes are decoded once before they are stored. Larger ones would delay their readers.
const READ_BACK_BYTES_MAX: usize = 64 << 10;

/// Encodes and decodes the values of one cache.
pub(crate) struct Payloads<V> {
    pub(crate) codec: Arc<dyn Codec<V>>,
    /// The codec's id when the cache was built.
    pub(crate) codec_id: u8,
    /// Payloads of at least this many bytes are compressed, if that makes them smaller.
    pub(crate) compress_bytes_min: usize,
    /// Larger values are neither stored nor decompressed: a few bytes can claim to decompress to gigabytes.
    pub(crate) value_bytes_max: usize,
}

/// A value in its stored form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Packed {
    pub(crate) codec: u8,
    pub(crate) compression: u8,
    pub(crate) payload: Bytes,
}

/// The decoded value of an entry.
#[derive(Debug)]
pub(crate) struct Unpacked<V> {
    /// `None` if the row is absent.
    pub(crate) row: Option<Arc<V>>,
    /// Length of the encoded value before compression.
    pub(crate) bytes: usize,
}

/// Why the value of an entry cannot be decoded.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) error: CodecError,
    /// The header names this codec and a known compression, so no newer program can decode it either, unless that program
    /// changed the type without changing the schema number.
    pub(crate) is_own: bool,
}

impl<V: 'static> Payloads<V> {
    pub(crate) fn new(codec: Arc<dyn Codec<V>>, compress_bytes_min: usize, value_bytes_max: usize) -> Self {
        let codec_id = codec.id();
        Self { codec, codec_id, compress_bytes_min, value_bytes_max }
    }

    pub(crate) fn pack(&self, value: &V) -> Result<Packed, CodecError> {
        let encode = || {
            let mut plain = Vec::new();
            self.codec.encode(value, &mut plain).map(|()| Bytes::from(plain))
        };
        let plain = catch_panic(guard("cache_encode_caught"), encode)
            .unwrap_or_else(|message| Err(CodecError::encode("its codec", format!("encoding panicked: {message}"))))?;
        if plain.len() > self.value_bytes_max {
            let reason = format!("the value has {} bytes; the limit is {}", plain.len(), self.value_bytes_max);
            return Err(CodecError::encode("the cache", reason));
        }
        if plain.len() <= READ_BACK_BYTES_MAX && guard("cache_reads_back") {
            self.read_back(plain.clone())?;
        }
        let codec = self.codec_id;
        if plain.len() >= self.compress_bytes_min {
            let packed = lz4_flex::block::compress_prepend_size(&plain);
            if packed.len() < plain.len() {
                return Ok(Packed { codec, compression: LZ4, payload: packed.into() });
            }
        }
        Ok(Packed { codec, compression: PLAIN, payload: plain })
    }

    pub(crate) fn unpack(&self, value: &header::Value, payload: Bytes) -> Result<Unpacked<V>, Unreadable> {
        if value.absent {
            return Ok(Unpacked { row: None, bytes: 0 });
        }
        let of_others = |reason| Unreadable { error: CodecError::decode("the cache", reason), is_own: false };
        if value.codec != self.codec_id {
            return Err(of_others(format!("they were written by codec {}", value.codec)));
        }
        let plain = match value.compression {
            PLAIN => Ok(payload),
            LZ4 => self.inflate(&payload),
            other => return Err(of_others(format!("unknown compression {other}"))),
        };
        let read = plain.and_then(|plain| Ok((plain.len(), self.decode(plain)?)));
        let (bytes, row) = read.map_err(|error| Unreadable { error, is_own: true })?;
        Ok(Unpacked { row: Some(Arc::new(row)), bytes })
    }

    fn read_back(&self, plain: Bytes) -> Result<(), CodecError> {
        let decode = || self.codec.decode(plain).map(drop).map_err(|error| error.to_string());
        let read = catch_panic(guard("cache_decode_caught"), decode).unwrap_or_else(Err);
        read.map_err(|error| {
            CodecError::encode("the cache", format!("its codec cannot decode its own output: {error}"))
        })
    }

    fn decode(&self, plain: Bytes) -> Result<V, CodecError> {
        catch_panic(guard("cache_decode_caught"), || self.codec.decode(plain))
            .unwrap_or_else(|message| Err(CodecError::decode("its codec", format!("decoding panicked: {message}"))))
    }

    fn inflate(&self, packed: &[u8]) -> Result<Bytes, CodecError> {
        let broken = |reason: &dyn std::fmt::Display| CodecError::decode("LZ4", reason);
        let (prefix, block) =
            packed.split_first_chunk::<LZ4_PREFIX_LEN>().ok_or_else(|| broken(&"the length is missing"))?;
        let length = usize::try_from(u32::from_le_bytes(*prefix)).unwrap_or(usize::MAX);
        if length > self.value_bytes_max {
            return Err(broken(&format_args!("the value has {length} bytes; the limit is {}", self.value_bytes_max)));
        }
        lz4_flex::block::decompress(block, length).map(Bytes::from).map_err(|error| broken(&error))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is the failure the test reports")]

    use super::*;
    use evenkeel_protocol::codec::Raw;

    fn payloads() -> Payloads<Bytes> {
        Payloads::new(Arc::new(Raw), 100, 1_000)
    }

    fn stored(packed: &Packed) -> header::Value {
        header::Value {
            loaded_at_ms: 0,
            soft_until_ms: 0,
            hard_until_ms: 0,
            version: None,
            absent: false,
            stale: false,
            codec: packed.codec,
            compression: packed.compression,
        }
    }

    #[test]
    fn payload_is_compressed_above_the_threshold_if_smaller() {
        let payloads = payloads();
        let noise: Bytes = (0_u32..500).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
        for (value, compression) in
            [(Bytes::from(vec![7; 99]), PLAIN), (Bytes::from(vec![7; 100]), LZ4), (noise, PLAIN), (Bytes::new(), PLAIN)]
        {
            let packed = payloads.pack(&value).unwrap();
            assert_eq!(packed.compression, compression, "{} bytes", value.len());
            assert!(packed.payload.len() <= value.len());
            let back = payloads.unpack(&stored(&packed), packed.payload.clone()).unwrap();
            assert_eq!((*back.row.unwrap()).clone(), value);
            assert_eq!(back.bytes, value.len(), "the length before compression");
        }
    }

    #[test]
    fn absent_row_is_none_without_a_payload() {
        let packed = Packed { codec: 0, compression: PLAIN, payload: Bytes::new() };
        let absent = header::Value { absent: true, ..stored(&packed) };
        assert_eq!(payloads().unpack(&absent, packed.payload).unwrap().row, None);
    }

    /// Four bytes can claim any length: a limit that is checked after decompression would be too late.
    #[test]
    fn payload_never_decompresses_above_the_cap() {
        let payloads = payloads();
        let bomb = lz4_flex::block::compress_prepend_size(&vec![0; 1_001]);
        let lies = Bytes::from_static(&[0xFF, 0xFF, 0xFF, 0xFF, 0]);
        for payload in [bomb.into(), lies, Bytes::from_static(&[1, 0]), Bytes::from_static(&[8, 0, 0, 0, 0xF0])] {
            let packed = Packed { codec: 4, compression: LZ4, payload };
            assert!(payloads.unpack(&stored(&packed), packed.payload.clone()).is_err());
        }
        assert!(payloads.pack(&Bytes::from(vec![0; 1_001])).is_err());
    }

    // shows: codec::Codec::encode, codec::Codec::decode, codec::Codec::decode_of
    #[test]
    fn payload_of_another_codec_is_an_error() {
        let packed = Packed { codec: 1, compression: PLAIN, payload: Bytes::from_static(b"1") };
        assert!(!payloads().unpack(&stored(&packed), packed.payload.clone()).unwrap_err().is_own);
        let unknown = header::Value { codec: 4, compression: 9, ..stored(&packed) };
        assert!(!payloads().unpack(&unknown, packed.payload).unwrap_err().is_own);
    }
}
