//! Random tokens. Ownership is always proved by a token, never by a count of connections or threads.

use std::fmt;

/// 128 random bits that identify one attempt, one owner or one delivery. Compared as bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token([u8; 16]);

impl Token {
    /// Draws a new token from the thread's cryptographically secure random number generator.
    #[must_use]
    pub fn random() -> Self {
        Self(rand::random())
    }

    /// The bytes that are sent to Redis.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl From<[u8; 16]> for Token {
    fn from(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
