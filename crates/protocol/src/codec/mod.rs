//! Codecs: how values are encoded to bytes and decoded again.
//!
//! | codec | for | in `redis-cli` |
//! |---|---|---|
//! | [`Json`] (default) | anything with serde | readable |
//! | `MessagePack` | anything with serde; compact, fields keep their names | not readable |
//! | [`Integer`] | the integer types | readable |
//! | [`Raw`] | bytes and text as they are | readable if the value is |
//!
//! A codec is stateless and cheap to copy. Encoded values are marked with the codec's [`Codec::id`], so that no codec decodes
//! another one's bytes as its own. No codec accepts bytes after the end of a value.

pub mod error;
mod finite;
mod integer;
pub mod json;
#[cfg(feature = "cache")]
mod message_pack;
mod raw;

pub use error::CodecError;
pub use integer::Integer;
pub use json::Json;
#[cfg(feature = "cache")]
pub use message_pack::MessagePack;
pub use raw::Raw;

use bytes::Bytes;
use serde::de::DeserializeOwned;
#[cfg(any(feature = "queue", feature = "cache", feature = "stream"))]
use std::any::TypeId;

/// The ids of Evenkeel's codecs.
pub(crate) const JSON: u8 = 1;
#[cfg(any(feature = "cache", feature = "queue"))]
pub(crate) const MESSAGE_PACK: u8 = 2;
const INTEGER: u8 = 3;
const RAW: u8 = 4;

/// Encodes values of type `V` to bytes and decodes them again.
///
/// An implementation must decode its own output: `decode(encode(v)) == v`. The bytes come from outside the process and may be from
/// another version of the program: `decode` returns [`CodecError`] for everything that it cannot decode, and never panics.
pub trait Codec<V>: Send + Sync + 'static {
    /// Identifies this codec's output. 0 to 63 are reserved for Evenkeel, 64 to 127 are free for your own codecs.
    fn id(&self) -> u8;

    /// Appends the value's bytes to `out`.
    ///
    /// # Errors
    /// [`CodecError`] if the codec cannot represent the value; `out` may then contain a part of it. A panic fails the fill of a cache and the
    /// tick of a schedule; anywhere else the caller panics, before anything was sent, and a unit of work has its other effects.
    fn encode(&self, value: &V, out: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Decodes a value. `bytes` is shared, so a codec that keeps bytes unchanged need not copy them.
    ///
    /// # Errors
    /// [`CodecError`] if the bytes are not exactly one value of this type in this codec.
    fn decode(&self, bytes: Bytes) -> Result<V, CodecError>;

    /// Decodes the output of the codec with this [`id`](Self::id), if this codec supports it: while a queue changes its codec, it has
    /// bodies of both. The default is `None`, not supported. Evenkeel's codecs decode each other's output as far as the type allows it.
    ///
    /// # Errors
    /// [`CodecError`] if the bytes are not a valid output of that codec.
    fn decode_of(&self, codec: u8, bytes: &Bytes) -> Option<Result<V, CodecError>> {
        let _ = (codec, bytes);
        None
    }
}

/// Encodes a value that a handler is to decode. In builds with debug assertions it is decoded at once: a value that its handler could not
/// decode, or would get as another one, is the sender's error, not a dead letter.
///
/// # Errors
/// [`CodecError`] if the codec cannot represent the value, or, with debug assertions, cannot decode it, or decodes another value.
#[cfg(any(feature = "queue", feature = "stream"))]
pub fn encode<V: 'static>(codec: &dyn Codec<V>, value: &V) -> Result<Vec<u8>, CodecError> {
    let mut out = Vec::new();
    codec.encode(value, &mut out)?;
    if cfg!(debug_assertions) {
        check_decoded(codec, &out)?;
    }
    Ok(out)
}

/// Decodes what was encoded, and compares what Evenkeel's codecs make of the result: those of users may encode one value in several ways.
#[cfg(any(feature = "queue", feature = "stream"))]
fn check_decoded<V: 'static>(codec: &dyn Codec<V>, out: &[u8]) -> Result<(), CodecError> {
    let (value, mut again) = match codec.decode(Bytes::copy_from_slice(out)) {
        Ok(value) => (value, Vec::new()),
        Err(CodecError::Decode { codec, reason }) => {
            return Err(CodecError::encode(codec, format!("it could not be decoded again: {reason}")));
        }
        Err(_) => return Ok(()),
    };
    // The items of hash maps and sets have another order each time.
    let counts = |bytes: &[u8]| {
        let mut counts = [0_usize; 256];
        bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        counts
    };
    let is_equal = codec.encode(&value, &mut again).is_ok() && (again == out || counts(&again) == counts(out));
    if is_equal || codec.id() >= 64 {
        return Ok(());
    }
    let name = if codec.id() == JSON { "JSON" } else { "MessagePack" };
    Err(CodecError::encode(
        name,
        "it would be decoded as another value: does an untagged enum have an earlier variant that fits?",
    ))
}

/// Rejects bytes that no program could decode with the codec of this id, whatever the type of its values. For callers that do not know
/// the type.
///
/// # Errors
/// [`CodecError::Decode`].
#[cfg(any(feature = "queue", feature = "stream"))]
pub fn check_encoded(codec: u8, bytes: &[u8]) -> Result<(), CodecError> {
    match codec {
        // Half of a surrogate pair, `1e999`, and 128 levels are valid where values are skipped, but not where they are read.
        JSON => json::read::<serde_json::Value>(bytes).map(drop),
        #[cfg(feature = "cache")]
        MESSAGE_PACK => message_pack::read::<serde::de::IgnoredAny>(bytes).map(drop),
        INTEGER => {
            let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
            match !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) {
                true => Ok(()),
                false => Err(CodecError::decode("Integer", "it is not a decimal number")),
            }
        }
        _ => Ok(()),
    }
}

/// Decodes the output of one of Evenkeel's codecs into a type that implements serde's traits.
fn decode_serde<V: DeserializeOwned>(codec: u8, bytes: &Bytes) -> Option<Result<V, CodecError>> {
    Some(match codec {
        JSON => json::read(bytes),
        #[cfg(feature = "cache")]
        MESSAGE_PACK => message_pack::read(bytes),
        // Decimal text is valid JSON.
        INTEGER => json::read(bytes),
        RAW => raw::read(bytes),
        _ => return None,
    })
}

/// Rejects a user's codec with an id reserved for Evenkeel: `decode` would receive bytes that the codec did not encode.
///
/// `is_guarded` is false if a test has removed that guard.
///
/// # Errors
/// The reason, in one sentence.
#[cfg(any(feature = "queue", feature = "cache", feature = "stream"))]
pub fn check_id<V: 'static, C: Codec<V>>(codec: &C, is_guarded: bool) -> Result<(), String> {
    let kind = TypeId::of::<C>();
    #[cfg(feature = "cache")]
    let is_message_pack = kind == TypeId::of::<MessagePack>();
    #[cfg(not(feature = "cache"))]
    let is_message_pack = false;
    let is_ours =
        is_message_pack || [TypeId::of::<Json>(), TypeId::of::<Integer>(), TypeId::of::<Raw>()].contains(&kind);
    let id = codec.id();
    if is_ours || (64..128).contains(&id) || !is_guarded {
        return Ok(());
    }
    Err(format!("its codec has the id {id}; ids of your own codecs are 64 to 127"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is the failure the test reports")]

    use super::*;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct User {
        name: String,
        age: Option<u8>,
    }

    /// The same row in a later version of the program.
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct LaterUser {
        #[serde(default)]
        email: Option<String>,
        age: Option<u8>,
        name: String,
    }

    fn ada() -> User {
        User { name: "Ada {}".into(), age: Some(36) }
    }

    fn round<V, C: Codec<V>>(codec: &C, value: &V) -> (Bytes, Result<V, CodecError>) {
        let mut out = Vec::new();
        codec.encode(value, &mut out).unwrap();
        let bytes = Bytes::from(out);
        (bytes.clone(), codec.decode(bytes))
    }

    // shows: codec::Codec::encode, codec::Codec::decode, codec::Codec::decode_of
    #[test]
    fn every_codec_round_trips() {
        assert_eq!(round(&Json, &ada()).1.unwrap(), ada());
        assert_eq!(round(&Raw, &Bytes::from_static(b"\0\xff{}")).1.unwrap(), Bytes::from_static(b"\0\xff{}"));
        assert_eq!(round(&Raw, &vec![0_u8, 255]).1.unwrap(), vec![0_u8, 255]);
        assert_eq!(round(&Raw, &"Übung".to_owned()).1.unwrap(), "Übung");
        assert_eq!(round(&Integer, &i64::MIN).1.unwrap(), i64::MIN);
        assert_eq!(round(&Integer, &u128::MAX).1.unwrap(), u128::MAX);
        assert_eq!(&round(&Integer, &-7_i16).0[..], b"-7");
    }

    // shows: codec::Codec::encode, codec::Codec::decode, codec::Codec::decode_of
    #[test]
    fn arbitrary_bytes_are_a_decoding_error() {
        let junk = Bytes::from_static(b"\xc1{\"name\":");
        assert!(Codec::<User>::decode(&Json, junk.clone()).is_err());
        assert!(Codec::<u64>::decode(&Integer, junk.clone()).is_err());
        assert!(Codec::<u8>::decode(&Integer, Bytes::from_static(b"256")).is_err());
        assert!(Codec::<String>::decode(&Raw, junk).is_err());
    }

    /// Positional tuples would break when a field is added or moved; named fields survive a rolling deploy.
    #[cfg(feature = "cache")]
    #[test]
    fn message_pack_keeps_field_names() {
        let (bytes, back) = round(&MessagePack, &ada());
        assert_eq!(back.unwrap(), ada());
        let later: LaterUser = MessagePack.decode(bytes).unwrap();
        assert_eq!(later, LaterUser { email: None, age: Some(36), name: "Ada {}".into() });
        assert!(Codec::<User>::decode(&MessagePack, Bytes::from_static(b"\xc1")).is_err());
    }

    /// `serde_json` would write each of these floats as `null`.
    // shows: hazard A35
    #[test]
    fn json_rejects_nan_and_infinity() {
        #[derive(Serialize, Deserialize)]
        enum Shape {
            Unit,
            New(f64),
            Tuple(u8, f32),
            Struct { side: Option<f64> },
        }
        let is_written = |value: &Shape| Json.encode(value, &mut Vec::new()).is_ok();
        for good in [Shape::Unit, Shape::New(1.5), Shape::Tuple(1, f32::MIN), Shape::Struct { side: None }] {
            assert!(is_written(&good));
        }
        for bad in
            [Shape::New(f64::NAN), Shape::Tuple(1, f32::INFINITY), Shape::Struct { side: Some(f64::NEG_INFINITY) }]
        {
            assert!(!is_written(&bad));
        }
        let error = Json.encode(&vec![(0_u8, Some(f64::NAN))], &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("NaN or infinite") && error.contains("MessagePack"), "{error}");
        assert!(Json.encode(&std::collections::BTreeMap::from([(7_u8, f64::NAN)]), &mut Vec::new()).is_err());
        assert!(Json.encode(&std::collections::BTreeMap::from([((1, 2), 3)]), &mut Vec::new()).is_err());
    }

    #[test]
    fn json_output_equals_serde_json() {
        let value = serde_json::json!({"a": [1, -2.5, null, true, "x\n"], "b": {"c": 18_446_744_073_709_551_615_u64}});
        assert_eq!(round(&Json, &value).0, serde_json::to_vec(&value).unwrap());
        assert_eq!(round(&Json, &i128::MIN).1.unwrap(), i128::MIN);
        assert_eq!(round(&Json, &('ü', (), [0_u8; 3])).1.unwrap(), ('ü', (), [0; 3]));
    }

    /// A tenth of all doubles came back as a neighboring one.
    // shows: hazard SF3
    #[test]
    fn json_floats_round_trip() {
        let mut bits = 0x3ff5_5555_5555_5555_u64;
        for _ in 0..1_000 {
            bits = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
            let value = f64::from_bits(bits);
            if value.is_finite() {
                let back: f64 = round(&Json, &value).1.unwrap();
                assert_eq!(back.to_bits(), value.to_bits(), "{value}");
            }
        }
    }

    /// Encoding it succeeded, and every consumer made a dead letter of it.
    // shows: hazard SF3
    #[test]
    fn json_nested_too_deep_is_rejected() {
        let nested =
            |levels: usize| (0..levels).fold(serde_json::json!(1), |inner, _| serde_json::json!([{ "a": inner }]));
        assert_eq!(round(&Json, &nested(63)).1.unwrap(), nested(63));
        let error = Json.encode(&nested(64), &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("127 levels"), "{error}");
        // What is closed again does not count.
        let flat: Vec<Vec<u8>> = vec![Vec::new(); 200];
        assert_eq!(round(&Json, &flat).1.unwrap(), flat);
    }

    /// Serde has no numbers left for the keys of a map once it has looked for the tag.
    // shows: hazard SF3
    #[cfg(any(feature = "queue", feature = "stream"))]
    #[test]
    fn value_that_cannot_be_decoded_is_rejected_when_it_is_encoded() {
        #[derive(Debug, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        enum Event {
            Counted { by_id: std::collections::BTreeMap<u32, u32> },
        }
        let event = |id: Option<u32>| Event::Counted { by_id: id.map(|id| (id, 1)).into_iter().collect() };
        assert!(encode(&Json, &event(None)).is_ok());
        let error = encode(&Json, &event(Some(7))).unwrap_err();
        assert!(matches!(&error, CodecError::Encode { reason, .. } if reason.contains("decoded again")), "{error}");
    }

    /// The handler got another value than the one that was sent.
    // shows: hazard SF3
    #[cfg(any(feature = "queue", feature = "stream"))]
    #[test]
    fn value_that_is_decoded_as_another_one_is_rejected_when_it_is_encoded() {
        #[derive(Debug, Serialize, Deserialize)]
        #[serde(untagged)]
        enum Change {
            Price { cents: Option<u32> },
            Name { name: String },
        }
        assert!(encode(&Json, &Change::Price { cents: Some(7) }).is_ok());
        let error = encode(&Json, &Change::Name { name: "Ada".to_owned() }).unwrap_err();
        assert!(matches!(&error, CodecError::Encode { reason, .. } if reason.contains("another value")), "{error}");
        let unordered: std::collections::HashMap<u32, std::collections::HashSet<u32>> =
            (0..20).map(|number| (number, (number..2 * number).collect())).collect();
        assert!(encode(&Json, &unordered).is_ok());
        assert!(encode(&Json, &(-0.0_f64, f32::MIN_POSITIVE, u128::MAX, "\u{0}".to_owned(), Some(None::<u8>))).is_ok());
    }

    /// An operator's job was accepted, and no handler could decode it.
    // shows: hazard SF4
    #[cfg(any(feature = "queue", feature = "stream"))]
    #[test]
    fn bytes_that_no_program_decodes_are_rejected() {
        let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
        for wrong in ["", "{", "\"\\ud800\"", "1e999", "1 2", &deep] {
            assert!(check_encoded(JSON, wrong.as_bytes()).is_err(), "{wrong}");
        }
        for right in ["1", "\"\\ud83d\\ude00\"", "18446744073709551616", "{\"a\": [1.5e300]}"] {
            assert!(check_encoded(JSON, right.as_bytes()).is_ok(), "{right}");
        }
        for (text, is_right) in
            [("-7", true), ("340282366920938463463374607431768211455", true), ("", false), ("7.5", false)]
        {
            assert_eq!(check_encoded(INTEGER, text.as_bytes()).is_ok(), is_right, "{text}");
        }
        assert!(check_encoded(RAW, b"\xff").is_ok() && check_encoded(77, b"\xff").is_ok());
    }

    // shows: hazard A3
    #[cfg(feature = "cache")]
    #[test]
    fn trailing_bytes_are_rejected() {
        for trailing in [&b"\x05\x05"[..], b"\x05\xc1", b"\x05\xdb"] {
            assert!(Codec::<u64>::decode(&MessagePack, Bytes::copy_from_slice(trailing)).is_err(), "{trailing:?}");
        }
        assert_eq!(Codec::<u64>::decode(&MessagePack, Bytes::from_static(b"\x05")).unwrap(), 5);
        assert!(Codec::<u64>::decode(&Json, Bytes::from_static(b"5 5")).is_err());
    }

    /// The JSON text `5` is the number 53 in MessagePack.
    // shows: hazard A3
    #[cfg(feature = "cache")]
    #[test]
    fn value_is_decoded_by_its_own_codec() {
        let read = |codec: &dyn Codec<u64>, id: u8, bytes: &'static [u8]| {
            codec.decode_of(id, &Bytes::from_static(bytes)).map(Result::ok)
        };
        for codec in [&Json as &dyn Codec<u64>, &MessagePack, &Integer] {
            assert_eq!(read(codec, JSON, b"5"), Some(Some(5)));
            assert_eq!(read(codec, MESSAGE_PACK, b"\x05"), Some(Some(5)));
            assert_eq!(read(codec, INTEGER, b"5"), Some(Some(5)));
            assert_eq!(read(codec, RAW, b"5"), Some(None), "text is not a number");
            assert_eq!(read(codec, 77, b"5"), None);
        }
        let text = Codec::<String>::decode_of(&Json, RAW, &Bytes::from_static(b"hello")).unwrap();
        assert_eq!(text.unwrap(), "hello");
        let text = Codec::<String>::decode_of(&Raw, JSON, &Bytes::from_static(b"\"hello\"")).unwrap();
        assert_eq!(text.unwrap(), "hello");
        assert!(Codec::<Bytes>::decode_of(&Raw, JSON, &Bytes::from_static(b"1")).is_none());
    }

    #[cfg(feature = "cache")]
    #[test]
    fn ids_are_distinct() {
        let ids = [
            Codec::<User>::id(&Json),
            Codec::<User>::id(&MessagePack),
            Codec::<Bytes>::id(&Raw),
            Codec::<u64>::id(&Integer),
        ];
        let distinct: std::collections::HashSet<u8> = ids.into_iter().collect();
        assert_eq!(distinct.len(), ids.len());
        assert!(ids.iter().all(|id| *id < 64));
    }
}
