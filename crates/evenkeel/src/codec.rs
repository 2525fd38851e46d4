//! How values become bytes and bytes become values again.
//!
//! | codec | for | in `redis-cli` |
//! |---|---|---|
//! | [`Json`] (default) | anything with serde | readable |
//! | `MessagePack` | anything with serde; compact, fields keep their names | not readable |
//! | [`Integer`] | the integer types | readable |
//! | [`Raw`] | bytes and text as they are | readable if the value is |
//!
//! A codec is stateless and cheap to copy. Its bytes are marked with its [`Codec::id`], so another codec never mistakes them for its own.
//! No codec accepts bytes behind the end of a value.

#[cfg(feature = "cache")]
pub use evenkeel_protocol::codec::MessagePack;
pub use evenkeel_protocol::codec::{Codec, CodecError, Integer, Json, Raw};
