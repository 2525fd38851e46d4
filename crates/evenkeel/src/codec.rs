//! Encodings of values.
//!
//! | codec | for | in `redis-cli` |
//! |---|---|---|
//! | [`Json`] (default) | anything with serde | readable |
//! | `MessagePack` | anything with serde; compact, fields keep their names | not readable |
//! | [`Integer`] | the integer types | readable |
//! | [`Raw`] | bytes and text as they are | readable if the value is |
//!
//! A codec is stateless and cheap to copy. Encoded bytes are marked with the [`Codec::id`] of their codec, so another codec
//! does not decode them by mistake. Every codec rejects bytes that follow the end of a value.

#[cfg(feature = "cache")]
pub use evenkeel_protocol::codec::MessagePack;
pub use evenkeel_protocol::codec::{Codec, CodecError, Integer, Json, Raw};
