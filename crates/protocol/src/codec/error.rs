//! Why a value did not become bytes, or bytes not a value.

/// A value that a codec cannot write, or bytes that it did not write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The value has no form in this codec: a map with keys that are not text in JSON, for example. Use another codec.
    #[error("{codec} cannot write this value: {reason}")]
    Encode {
        /// The codec's name.
        codec: &'static str,
        /// Its own words.
        reason: String,
    },
    /// The bytes were written by something else, or by another version of the type. Give the cache another schema number when
    /// the stored form of a type changes.
    #[error("{codec} cannot read these bytes: {reason}")]
    Decode {
        /// The codec's name.
        codec: &'static str,
        /// Its own words.
        reason: String,
    },
}

impl CodecError {
    /// A value that cannot be written.
    pub fn encode(codec: &'static str, reason: impl std::fmt::Display) -> Self {
        Self::Encode { codec, reason: reason.to_string() }
    }

    /// Bytes that cannot be read.
    pub fn decode(codec: &'static str, reason: impl std::fmt::Display) -> Self {
        Self::Decode { codec, reason: reason.to_string() }
    }
}
