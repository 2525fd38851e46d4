//! The errors of encoding and decoding values.

/// A value that a codec cannot encode, or bytes that it cannot decode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The codec cannot represent the value: in JSON, for example, a map with keys that are not text. Use another codec.
    #[error("{codec} cannot encode this value: {reason}")]
    Encode {
        /// The codec's name.
        codec: &'static str,
        /// The codec's error message.
        reason: String,
    },
    /// The bytes were encoded by another codec, or from another version of the type. Change the cache's schema number when
    /// the encoded form of a type changes.
    #[error("{codec} cannot decode these bytes: {reason}")]
    Decode {
        /// The codec's name.
        codec: &'static str,
        /// The codec's error message.
        reason: String,
    },
}

impl CodecError {
    /// An encoding error.
    pub fn encode(codec: &'static str, reason: impl std::fmt::Display) -> Self {
        Self::Encode { codec, reason: reason.to_string() }
    }

    /// A decoding error.
    pub fn decode(codec: &'static str, reason: impl std::fmt::Display) -> Self {
        Self::Decode { codec, reason: reason.to_string() }
    }
}
